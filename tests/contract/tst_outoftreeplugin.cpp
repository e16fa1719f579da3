// SPDX-License-Identifier: Apache-2.0
#include "e2e/product.h"
#include "pluginhost/pluginhost.h"
#include "support/fakeclock.h"

#include <QCoro/QCoroTask>
#include <QtCore/QDirIterator>
#include <QtCore/QProcess>
#include <QtCore/QTemporaryDir>
#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::pluginhost;

namespace {

/// Keeps what was declared.
class DeclaredSchedules final : public Scheduler {
public:
    Status declare(const QJsonObject &schedule) override
    {
        declared.append(schedule);
        return Status::success();
    }
    void runNow(const QString &, Reply *reply) override { reply->finish(Status::success(), {}); }

    QList<QJsonObject> declared;
};

} // namespace

/// Follows the SDK's README as an author would, outside this tree.
class TestOutOfTreePlugin : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void installsWhatAnAuthorNeeds();
    void refusesAnSdkOfAnotherMajor();
    void runsInTheHost();
    void runsInTheEngine();
    void relinksWhenOnlyTheMetadataChanged();

private:
    /// Runs cmake; what it said when it failed, empty when all went well.
    QByteArray cmake(const QStringList &arguments) const;
    QByteArray configure(const QString &source, const QString &build) const;
    void write(const QString &path, const QByteArray &text) const;

    QTemporaryDir m_folder;
    QString m_prefix;
    QString m_source;
    QString m_build;
};

QByteArray TestOutOfTreePlugin::cmake(const QStringList &arguments) const
{
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(QStringLiteral(CMAKE_PROGRAM), arguments);
    if (!process.waitForFinished(300'000))
        return "cmake did not end";
    const QByteArray output = process.readAll();
    const bool isFine = process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0;
    return isFine ? QByteArray() : output + " ";
}

QByteArray TestOutOfTreePlugin::configure(const QString &source, const QString &build) const
{
    QStringList arguments{u"-S"_s,
                          source,
                          u"-B"_s,
                          build,
                          u"-G"_s,
                          u"Ninja"_s,
                          u"-DCMAKE_PREFIX_PATH="_s + m_prefix,
                          QStringLiteral("-DCMAKE_CXX_COMPILER=" CXX_COMPILER),
                          QStringLiteral("-DCMAKE_BUILD_TYPE=" BUILD_TYPE)};
    if (const QString sanitizers = QStringLiteral(TIDEKEEPER_SANITIZE); !sanitizers.isEmpty())
        arguments.append(u"-DCMAKE_CXX_FLAGS=-fsanitize="_s + sanitizers);
    return cmake(arguments);
}

void TestOutOfTreePlugin::write(const QString &path, const QByteArray &text) const
{
    QVERIFY(QDir().mkpath(QFileInfo(path).path()));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text);
}

void TestOutOfTreePlugin::initTestCase()
{
    m_prefix = m_folder.filePath(u"prefix"_s);
    m_source = m_folder.filePath(u"hello"_s);
    m_build = m_folder.filePath(u"build"_s);
    QByteArray fault = cmake({u"--install"_s, QStringLiteral(TIDEKEEPER_BINARY_DIR "/engine/sdk"),
                              u"--component"_s, u"sdk"_s, u"--prefix"_s, m_prefix});
    QVERIFY2(fault.isEmpty(), fault);

    QVERIFY(QDir().mkpath(m_source));
    const QDir example(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/plugins/template"));
    for (const QString &name : example.entryList(QDir::Files))
        QVERIFY(QFile::copy(example.filePath(name), m_source + u'/' + name));
    fault = configure(m_source, m_build);
    QVERIFY2(fault.isEmpty(), fault);
    fault = cmake({u"--build"_s, m_build});
    QVERIFY2(fault.isEmpty(), fault);
}

void TestOutOfTreePlugin::installsWhatAnAuthorNeeds()
{
    QStringList installed;
    QDirIterator files(m_prefix, QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext())
        installed.append(QFileInfo(files.next()).fileName());
    for (const QString &name : {u"plugin.h"_s, u"services.h"_s, u"callback.h"_s, u"libtidekeeper-sdk.so.1"_s,
                                u"TidekeeperAddPlugin.cmake"_s, u"pluginmetadata.schema.json"_s})
        QVERIFY2(installed.contains(name), qPrintable(name));
    for (const QString &name : installed)
        QVERIFY2(!name.contains("pluginhost"_L1), qPrintable(name)); // nothing of the engine
}

void TestOutOfTreePlugin::refusesAnSdkOfAnotherMajor()
{
    const QString source = m_folder.filePath(u"later"_s);
    write(source + u"/CMakeLists.txt"_s,
          "cmake_minimum_required(VERSION 3.25)\nproject(Later LANGUAGES CXX)\n"
          "find_package(TidekeeperSdk 2.0 REQUIRED)\n");
    const QByteArray fault = configure(source, source + u"/build"_s);
    QVERIFY2(fault.contains("TidekeeperSdk"), fault);
}

void TestOutOfTreePlugin::runsInTheHost()
{
    test::FakeClock clock;
    ServiceRegistry services;
    services.add<Clock>(&clock);
    DeclaredSchedules schedules;
    services.add<Scheduler>(&schedules);
    QStringList log;
    HostOptions options;
    options.searchPath = {m_build + u"/lib/tidekeeper/plugins"_s};
    options.sections = {{u"hello"_s, {{u"greeting"_s, u"Good morning"_s}}}};
    PluginHost host(services, options,
                    [&log](int, const QString &, const QString &text) { log.append(text); });
    QCoro::waitFor(host.start());
    QCOMPARE(host.records().size(), 1U);
    QCOMPARE(toString(host.records().front().state), u"running"_s);
    QVERIFY(log.contains(u"Good morning, it is %1 ms since the epoch."_s.arg(clock.nowMs())));

    QCOMPARE(schedules.declared.size(), 1);
    QCOMPARE(schedules.declared.first().value("id"_L1), u"hello-daily"_s);

    const QList<Implementation<JobHandler>> handlers = host.implementations<JobHandler>();
    QCOMPARE(handlers.size(), 1);
    JobHandler *handler = handlers.first().object;
    const QJsonObject job{{u"payload"_s, QJsonObject{{u"name"_s, u"Ada"_s}}}};
    QVERIFY(QCoro::waitFor(call(1'000, [handler, job](Reply *reply) { handler->run(job, reply); })));
    QVERIFY(log.contains(u"Good morning, Ada."_s));
    const auto refused = QCoro::waitFor(call(1'000, [handler](Reply *reply) { handler->run({}, reply); }));
    QCOMPARE(refused.error().code, u"dead"_s);

    QCoro::waitFor(host.stop());
    QCOMPARE(toString(host.records().front().state), u"stopped"_s);
}

/// Declared schedule, run by hand over the API, job of a queue, handler, history: all of it by the real engine.
void TestOutOfTreePlugin::runsInTheEngine()
{
    test::Product product;
    product.engineArguments = {u"--plugin-path"_s, m_build + u"/lib/tidekeeper/plugins"_s};
    QVERIFY2(product.startEngine("[plugins.hello]\ngreeting = \"Good evening\"\n"),
             product.engine->log().constData());
    const QString schedule = u"/api/v1/schedules/hello-daily"_s;
    QVERIFY(
        test::Product::eventually(10'000, [&] { return product.enginePost(schedule + u"/run"_s).good(); }));
    QVERIFY(test::Product::eventually(
        10'000, [&] { return product.engine->log().contains("Good evening, world."); }));

    QJsonObject run;
    QVERIFY(test::Product::eventually(10'000, [&] {
        run = product.engineGet(schedule + u"/runs"_s).body["runs"_L1][0].toObject();
        return run["outcome"_L1] == "done"_L1;
    }));
    QCOMPARE(run["trigger"_L1].toString(), u"manual"_s);
    QCOMPARE(run["attempts"_L1].toInt(), 0);
    product.engine->terminate();
    QCOMPARE(product.engine->waitFinished(15'000), 0);
}

void TestOutOfTreePlugin::relinksWhenOnlyTheMetadataChanged()
{
    // The case that Ninja gets wrong by itself: the class stands in a source that includes moc's output.
    const QString source = m_folder.filePath(u"small"_s);
    write(source + u"/CMakeLists.txt"_s,
          "cmake_minimum_required(VERSION 3.25)\nproject(Small LANGUAGES CXX)\n"
          "find_package(TidekeeperSdk 1.0 REQUIRED)\n"
          "tidekeeper_add_plugin(small SOURCES small.cpp METADATA small.json.in)\n");
    write(source + u"/small.cpp"_s,
          "#include <tidekeeper/plugin.h>\n"
          "class Small : public QObject {\n"
          "    Q_OBJECT\n"
          "    Q_PLUGIN_METADATA(IID TIDEKEEPER_PLUGIN_IID FILE \"small.json\")\n"
          "};\n"
          "#include \"small.moc\"\n");
    const QByteArray metadata = R"({"Id": "small", "Name": "NAME", "Version": "1", "Description": "Small.",
                                    "License": "MIT", "Provides": []})";
    const QString build = source + u"/build"_s;
    for (const QByteArray name : {"Before", "After"}) {
        write(source + u"/small.json.in"_s, QByteArray(metadata).replace("NAME", name));
        if (name == "Before")
            QCOMPARE(configure(source, build), QByteArray());
        QCOMPARE(cmake({u"--build"_s, build}), QByteArray());
        // Under a name of its own, for Qt remembers what it read.
        const QString copy = m_folder.filePath(QString::fromLatin1(name) + u".so"_s);
        QVERIFY(QFile::copy(build + u"/lib/tidekeeper/plugins/small.so"_s, copy));
        const Result<PluginMetadata> read = readMetadata(copy);
        QVERIFY(read);
        QCOMPARE(read->name, QString::fromLatin1(name));
    }
}

QTEST_GUILESS_MAIN(TestOutOfTreePlugin)
#include "tst_outoftreeplugin.moc"
