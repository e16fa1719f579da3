// SPDX-License-Identifier: Apache-2.0
#include "pluginscene.h"

#include <QCoro/QCoroTask>
#include <QtCore/QElapsedTimer>
#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::pluginhost;
using tidekeeper::test::PluginScene;

class TestPluginHost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void runsAGoodPlugin();
    void startsAndStopsInOrder();
    void keepsARecordOfWhatIsBroken_data();
    void keepsARecordOfWhatIsBroken();
    void stopsWhatMayRunAfterAFailedStart();
    void survivesAllOfThemTogether();
    void dropsWhatIsNotOurs();
    void showsAFileThatWasCutShort();
    void refusesANewerQt();
    void refusesASecondFileWithTheSameId();
    void readsMetadataWithoutRunningCode();
    void obeysEnabled();
    void warnsOfASectionWithoutPlugin();
    void countsALateStart();
    void doesNotWaitForASilentStop();
    void boundsTheWholeStop();
    void givesUpAStartWhenItStops();
    void doesNotStartAfterItsStop();
    void dropsLogLinesOfAPluginThatOutlivesIt();
};

/// A service that is offered, but that no fixture lists under "Needs".
class SilentQueue final : public Queue {
public:
    void enqueue(const QJsonObject &, Reply *) override { }
};

/// The answer of the fixture "good" to one job.
static QJsonObject runGood(PluginHost &host)
{
    const QList<Implementation<JobHandler>> handlers = host.implementations<JobHandler>();
    if (handlers.size() != 1)
        return {};
    const Implementation<JobHandler> handler = handlers.first();
    const Result<QJsonObject> result = QCoro::waitFor(
        call(1'000, [handler](Reply *reply) { handler.object->run({}, reply); }, {handler.lateAnswers, {}}));
    return result.value_or(QJsonObject());
}

void TestPluginHost::runsAGoodPlugin()
{
    PluginScene scene;
    SilentQueue queue;
    scene.services.add<Queue>(&queue);
    scene.put(u"good"_s);
    scene.options.sections = {{u"good"_s, {{u"enabled"_s, true}, {u"mode"_s, u"observe"_s}}}};
    scene.options.projects = {{u"default"_s, QJsonObject{{u"topic"_s, u"projects/p/topics/t"_s}}}};
    scene.makeHost();
    QSignalSpy changes(&scene.host(), &PluginHost::stateChanged);
    QCoro::waitFor(scene.host().start());

    QCOMPARE(scene.state(u"good"_s), u"running"_s);
    QCOMPARE(changes.size(), 4); // resolved, loaded, initialized, running
    QVERIFY(scene.host().implementations<RateLimiter>().isEmpty());
    const QJsonObject answer = runGood(scene.host());
    QCOMPARE(answer.value(u"mode"_s), QJsonValue(u"observe"_s));
    QCOMPARE(answer.value(u"batch_size"_s), QJsonValue(100));
    QCOMPARE(answer.value(u"now_ms"_s).toInteger(), scene.clock.nowMs());
    QCOMPARE(answer.value(u"projects"_s).toObject(), scene.options.projects);
    QCOMPARE(answer.value(u"unlisted"_s), QJsonValue(false));
    QVERIFY(!answer.contains(u"enabled"_s));

    scene.stop();
    QCOMPARE(scene.state(u"good"_s), u"stopped"_s);
    QVERIFY(scene.host().implementations<JobHandler>().isEmpty());
}

void TestPluginHost::startsAndStopsInOrder()
{
    PluginScene scene;
    scene.put({u"dependent"_s, u"good"_s});
    scene.start();
    scene.stop();
    QStringList lines = scene.log();
    lines.removeIf([](const QString &line) { return line.contains("Plugin "_L1); });
    const QStringList expected{u"good: initialize"_s, u"dependent: initialize"_s, u"good: start"_s,
                               u"dependent: start"_s, u"dependent: stop"_s,       u"good: stop"_s};
    QCOMPARE(lines, expected);
}

void TestPluginHost::keepsARecordOfWhatIsBroken_data()
{
    QTest::addColumn<QStringList>("fixtures");
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("reason");
    QTest::addColumn<QStringList>("said");

    const auto row = [](const char *id, const QString &reason, const QStringList &said,
                        QStringList with = {}) {
        const QString name = QString::fromLatin1(id);
        QTest::newRow(id) << with + QStringList{name} << name << reason << said;
    };
    row("wrong-iid", u"wrong_iid"_s, {u"dev.tidekeeper.Plugin/2"_s, u"dev.tidekeeper.Plugin/1"_s});
    row("bad-metadata", u"bad_metadata"_s, {u"\"Name\" is missing"_s, u"\"Provides\" must be a list"_s});
    row("sdk-too-new", u"sdk_too_new"_s, {u"SDK 1.99.0"_s});
    row("missing-dependency", u"missing_dependency"_s, {u"\"god\""_s, u"Did you mean \"good\"?"_s});
    row("missing-service", u"missing_dependency"_s,
        {u"dev.tidekeeper.Clok/1"_s, u"dev.tidekeeper.Clock/1"_s});
    row("dependency-failed", u"dependency_failed"_s, {u"\"initialize-fails\""_s, u"initialize_failed"_s},
        {u"initialize-fails"_s});
    row("cycle-a", u"cycle"_s, {u"cycle-a → cycle-b → cycle-a"_s}, {u"cycle-b"_s});
    row("load-error", u"load_error"_s, {u"undefined symbol"_s});
    row("missing-interface", u"missing_interface"_s, {u"promises dev.tidekeeper.RateLimiter/1"_s});
    row("unlisted-interface", u"missing_interface"_s, {u"dev.tidekeeper.Notifier/1"_s});
    row("no-plugin-interface", u"missing_interface"_s, {u"does not implement dev.tidekeeper.Plugin/1"_s});
    row("needs-configuration", u"bad_configuration"_s,
        {u"[plugins.needs-configuration]"_s, u"\"key_file\" is missing"_s, u"The path of the key."_s});
    row("initialize-fails", u"initialize_failed"_s, {u"no_key"_s, u"The key file is not there"_s});
    row("initialize-throws", u"initialize_failed"_s, {u"thrown by initialize"_s});
    row("start-fails", u"start_failed"_s, {u"reported timeout"_s, u"Redis did not answer."_s});
    row("start-throws", u"start_failed"_s, {u"exception"_s});
    row("late-start", u"start_timeout"_s, {u"300 ms"_s});
}

void TestPluginHost::keepsARecordOfWhatIsBroken()
{
    QFETCH(QStringList, fixtures);
    QFETCH(QString, id);
    QFETCH(QString, reason);
    QFETCH(QStringList, said);

    PluginScene scene;
    scene.put(fixtures);
    scene.put(u"good"_s);
    scene.start();
    QCOMPARE(scene.state(id), u"failed: "_s + reason);
    const PluginRecord record = scene.record(id);
    for (const QString &part : said)
        QVERIFY2(record.failure->text.contains(part), qPrintable(record.failure->text));
    QVERIFY(record.failure->text.endsWith(u'.') || record.failure->text.endsWith(u'?')
            || record.failure->reason == FailureReason::LoadError);
    QVERIFY(!record.failure->remedy.isEmpty());
    QVERIFY(!record.metadata.name.isEmpty());
    QVERIFY(scene.log().join(u'\n').contains(reason));
    QCOMPARE(scene.state(u"good"_s), u"running"_s);
    scene.stop();
    QCOMPARE(scene.state(id), u"failed: "_s + reason);
    QCOMPARE(scene.state(u"good"_s), u"stopped"_s);
}

void TestPluginHost::stopsWhatMayRunAfterAFailedStart()
{
    PluginScene scene;
    scene.put({u"start-fails"_s, u"start-throws"_s});
    scene.start();
    scene.stop();
    QVERIFY(scene.log().contains(u"start-throws: stop"_s));
    QVERIFY(!scene.log().contains(u"start-fails: stop"_s)); // it said itself that it did not start
}

void TestPluginHost::survivesAllOfThemTogether()
{
    PluginScene scene;
    const QDir all(QStringLiteral(TIDEKEEPER_BINARY_DIR "/tests/fixtures"));
    for (const QString &file : all.entryList({u"*.so"_s}))
        scene.put(file.chopped(3));
    QElapsedTimer timer;
    timer.start();
    scene.start();
    // Late ones start side by side: one deadline, not one for each.
    QVERIFY(timer.elapsed() < 5'000);
    QVERIFY(scene.host().records().size() >= 20);
    QCOMPARE(scene.state(u"dependent"_s), u"running"_s);
    QVERIFY(scene.state(u"silent-stop"_s) == u"running"_s);
    scene.stop();
    QCOMPARE(scene.state(u"dependent"_s), u"stopped"_s);
}

void TestPluginHost::dropsWhatIsNotOurs()
{
    // thecodemonkey86/qt_mysql_driver#9: libraries beside the plugins were probed and reported as failures.
    PluginScene scene;
    scene.put({u"plain-library"_s, u"foreign-plugin"_s, u"good"_s});
    scene.start();
    QCOMPARE(scene.host().records().size(), 1U);
    QVERIFY(!scene.log().join(u'\n').contains("library"_L1));
}

void TestPluginHost::showsAFileThatWasCutShort()
{
    PluginScene scene;
    QFile file(scene.put(u"good"_s));
    QVERIFY(file.resize(20'000));
    QFile text(scene.options.searchPath.first() + u"/notes.so"_s);
    QVERIFY(text.open(QIODevice::WriteOnly));
    text.write("not a library\n");
    text.close();
    scene.start();
    QCOMPARE(scene.state(u"good"_s), u"failed: load_error"_s);
    QCOMPARE(scene.state(u"notes"_s), u"failed: load_error"_s);
    QVERIFY(scene.record(u"notes"_s).failure->text.contains("notes.so"_L1));
}

void TestPluginHost::refusesANewerQt()
{
    // zhuzichu520/FluentUI#192, therecipe/qt#195: the reason was visible in debug output only.
    PluginScene scene;
    QFile file(scene.put(u"good"_s));
    QVERIFY(file.open(QIODevice::ReadWrite));
    // The note of Qt's metadata: its owner's name, then format, Qt major, Qt minor.
    const qint64 note = file.readAll().indexOf(QByteArray("qt-project!\0\1", 13));
    QVERIFY(note > 0);
    QVERIFY(file.seek(note + 14));
    QVERIFY(file.putChar(99));
    file.close();
    scene.start();
    QCOMPARE(scene.state(u"good"_s), u"failed: qt_incompatible"_s);
    QVERIFY(scene.record(u"good"_s).failure->text.contains("Qt 6.99.0"_L1));
}

void TestPluginHost::refusesASecondFileWithTheSameId()
{
    PluginScene scene;
    PluginScene second;
    const QString first = scene.put(u"good"_s);
    second.put(u"duplicate"_s);
    scene.options.searchPath += second.options.searchPath;
    scene.start();
    const std::vector<PluginRecord> records = scene.host().records();
    QCOMPARE(records.size(), 2U);
    QCOMPARE(toString(records[0].state), u"running"_s);
    QCOMPARE(records[0].file, QFileInfo(first).canonicalFilePath());
    QCOMPARE(toString(records[1].failure->reason), u"duplicate_id"_s);
    QVERIFY(records[1].failure->text.contains(records[0].file));
}

void TestPluginHost::readsMetadataWithoutRunningCode()
{
    // YIO-Remote/remote-software#532: versions were looked at after loading, when it was too late.
    QTemporaryDir folder;
    const QString marker = folder.filePath(u"marker"_s);
    qputenv("TIDEKEEPER_TEST_MARKER", marker.toLocal8Bit());
    PluginScene scene;
    const QString file = scene.put(u"marker"_s);
    QCOMPARE(readMetadata(file)->id, u"marker"_s);
    scene.start();
    QCOMPARE(scene.state(u"marker"_s), u"disabled"_s);
    QVERIFY(!QFile::exists(marker));

    scene.options.sections = {{u"marker"_s, {{u"enabled"_s, true}}}};
    scene.start();
    QCOMPARE(scene.state(u"marker"_s), u"running"_s);
    QVERIFY(QFile::exists(marker));
}

void TestPluginHost::obeysEnabled()
{
    PluginScene scene;
    scene.put({u"good"_s, u"dependent"_s, u"needs-configuration"_s});
    scene.options.sections = {{u"good"_s, {{u"enabled"_s, false}}},
                              {u"needs-configuration"_s, {{u"enabled"_s, false}}}};
    scene.start();
    QCOMPARE(scene.state(u"good"_s), u"disabled"_s);
    QVERIFY(!scene.record(u"good"_s).enabled);
    QCOMPARE(scene.state(u"dependent"_s), u"failed: missing_dependency"_s);
    QVERIFY(scene.record(u"dependent"_s).failure->text.contains("disabled"_L1));
    QCOMPARE(scene.state(u"needs-configuration"_s), u"disabled"_s);
    QVERIFY(scene.record(u"needs-configuration"_s).note.contains("key_file"_L1));
}

void TestPluginHost::warnsOfASectionWithoutPlugin()
{
    PluginScene scene;
    scene.put(u"good"_s);
    scene.options.sections = {{u"goood"_s, {}}};
    scene.start();
    QVERIFY(scene.log().contains(
        u": The section [plugins.goood] belongs to no plugin that was found. Did you mean \"good\"?"_s));
}

void TestPluginHost::countsALateStart()
{
    PluginScene scene;
    scene.put(u"late-start"_s);
    scene.start();
    QCOMPARE(scene.state(u"late-start"_s), u"failed: start_timeout"_s);
    QCOMPARE(scene.record(u"late-start"_s).lateAnswers, 0);
    scene.stop(); // the fixture now finishes both replies, on a thread of its own
    QCOMPARE(scene.record(u"late-start"_s).lateAnswers, 1);
    QCOMPARE(scene.state(u"late-start"_s), u"failed: start_timeout"_s);
    QVERIFY(scene.log().contains(u"late-start: abandoned"_s));
}

void TestPluginHost::doesNotWaitForASilentStop()
{
    PluginScene scene;
    scene.put({u"silent-stop"_s, u"good"_s});
    scene.start();
    QElapsedTimer timer;
    timer.start();
    scene.stop();
    QVERIFY(timer.elapsed() < 900);
    QCOMPARE(scene.state(u"silent-stop"_s), u"stopping"_s);
    QVERIFY(scene.record(u"silent-stop"_s).note.contains("300 ms"_L1));
    QCOMPARE(scene.state(u"good"_s), u"stopped"_s);
}

void TestPluginHost::boundsTheWholeStop()
{
    PluginScene scene;
    scene.put(u"silent-stop"_s);
    scene.options.stopDeadlineMs = 60'000;
    scene.options.stopAllDeadlineMs = 200;
    scene.start();
    QElapsedTimer timer;
    timer.start();
    scene.stop();
    QVERIFY(timer.elapsed() < 5'000);
    QCOMPARE(scene.state(u"silent-stop"_s), u"stopping"_s);
}

void TestPluginHost::givesUpAStartWhenItStops()
{
    PluginScene scene;
    scene.put({u"late-start"_s, u"good"_s});
    scene.options.startDeadlineMs = 60'000;
    scene.makeHost();
    const QCoro::Task<> starting = scene.host().start();
    QCOMPARE(scene.state(u"late-start"_s), u"initialized"_s);
    QElapsedTimer timer;
    timer.start();
    scene.stop();
    QVERIFY(timer.elapsed() < 5'000);
    QVERIFY(starting.isReady());
    QCOMPARE(scene.state(u"late-start"_s), u"stopped"_s);
    QCOMPARE(scene.state(u"good"_s), u"stopped"_s);
}

void TestPluginHost::doesNotStartAfterItsStop()
{
    PluginScene scene;
    scene.put(u"good"_s);
    scene.makeHost();
    scene.stop();
    QCoro::waitFor(scene.host().start());
    QVERIFY(scene.host().records().empty());
}

void TestPluginHost::dropsLogLinesOfAPluginThatOutlivesIt()
{
    PluginScene scene;
    scene.put(u"good"_s);
    scene.start();
    auto *plugin = dynamic_cast<Plugin *>(scene.host().implementations<JobHandler>().first().object);
    scene.makeHost(); // in place of the first one, which is gone now
    // The plugin's code and its Host are still there; its log line goes nowhere.
    QVERIFY(QCoro::waitFor(call(1'000, [plugin](Reply *reply) { plugin->stop(reply); })));
    QVERIFY(!scene.log().contains(u"good: stop"_s));
}

QTEST_GUILESS_MAIN(TestPluginHost)
#include "tst_pluginhost.moc"
