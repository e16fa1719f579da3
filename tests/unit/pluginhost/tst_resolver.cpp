// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/resolver.h"

#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::pluginhost;

namespace {

QVersionNumber version(const QString &text)
{
    return *parseVersion(text);
}

/// "a 1.2" with dependencies as "b 1.0, c 2".
PluginRecord plugin(const QString &id, const QString &itsVersion = u"1.0.0"_s,
                    const QString &dependencies = {})
{
    PluginRecord record;
    record.file = u"/plugins/"_s + id + u".so"_s;
    record.metadata.id = id;
    record.metadata.version = version(itsVersion);
    record.metadata.compatVersion = version(itsVersion);
    record.metadata.sdkVersion = version(u"1.0.0"_s);
    record.qtVersion = QVersionNumber(QT_VERSION_MAJOR, 0, 0);
    for (const QString &dependency : dependencies.split(u", "_s, Qt::SkipEmptyParts)) {
        const QStringList parts = dependency.split(u' ');
        record.metadata.dependencies.append({parts[0], version(parts.value(1, u"1.0.0"_s))});
    }
    return record;
}

const HostOffer offer{version(u"1.3.0"_s), {u"dev.tidekeeper.Clock/1"_s}};

/// "a resolved, b failed cycle"
QString states(const std::vector<PluginRecord> &records)
{
    QStringList texts;
    for (const PluginRecord &record : records) {
        const QString reason = record.failure ? u' ' + toString(record.failure->reason) : QString();
        texts.append(record.metadata.id + u' ' + toString(record.state) + reason);
    }
    return texts.join(u", "_s);
}

/// "a b | c": ids by wave.
QString names(const std::vector<PluginRecord> &records, const Waves &waves)
{
    QStringList texts;
    for (const auto &wave : waves) {
        QStringList ids;
        for (const std::size_t index : wave)
            ids.append(records[index].metadata.id);
        texts.append(ids.join(u' '));
    }
    return texts.join(u" | "_s);
}

} // namespace

class TestResolver : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void versionWindow_data();
    void versionWindow();
    void sdkRule_data();
    void sdkRule();
    void qtRule_data();
    void qtRule();
    void dependencies_data();
    void dependencies();
    void namesTheCycle();
    void refusesDuplicates();
    void section_data();
    void section();
};

void TestResolver::versionWindow_data()
{
    QTest::addColumn<QString>("compat");
    QTest::addColumn<QString>("is");
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<bool>("met");
    QTest::newRow("exact") << u"1.2.3"_s << u"1.2.3"_s << u"1.2.3"_s << true;
    QTest::newRow("inside") << u"1.1.0"_s << u"1.3.0"_s << u"1.2.7"_s << true;
    QTest::newRow("lower edge") << u"1.1.0"_s << u"1.3.0"_s << u"1.1.0"_s << true;
    QTest::newRow("below") << u"1.1.0"_s << u"1.3.0"_s << u"1.0.9"_s << false;
    QTest::newRow("above") << u"1.1.0"_s << u"1.3.0"_s << u"1.3.1"_s << false;
    QTest::newRow("numbers, not text") << u"1.9.0"_s << u"1.10.0"_s << u"1.10.0"_s << true;
    QTest::newRow("fewer parts are zeros") << u"1.2"_s << u"1.2"_s << u"1.2.0"_s << true;
}

void TestResolver::versionWindow()
{
    QFETCH(QString, compat);
    QFETCH(QString, is);
    QFETCH(QString, wanted);
    PluginMetadata metadata;
    metadata.compatVersion = version(compat);
    metadata.version = version(is);
    QTEST(provides(metadata, version(wanted)), "met");
}

void TestResolver::sdkRule_data()
{
    QTest::addColumn<QString>("sdk");
    QTest::addColumn<QString>("result");
    QTest::newRow("same") << u"1.3.0"_s << u"a resolved"_s;
    QTest::newRow("older minor") << u"1.0.0"_s << u"a resolved"_s;
    QTest::newRow("newer patch") << u"1.3.9"_s << u"a resolved"_s;
    QTest::newRow("newer minor") << u"1.4.0"_s << u"a failed sdk_too_new"_s;
    QTest::newRow("other major, newer") << u"2.0.0"_s << u"a failed sdk_too_new"_s;
    QTest::newRow("other major, older") << u"0.9.0"_s << u"a failed sdk_too_new"_s;
}

void TestResolver::sdkRule()
{
    QFETCH(QString, sdk);
    std::vector records{plugin(u"a"_s)};
    records[0].metadata.sdkVersion = version(sdk);
    resolve(records, offer);
    QTEST(states(records), "result");
}

void TestResolver::qtRule_data()
{
    QTest::addColumn<QVersionNumber>("qt");
    QTest::addColumn<QString>("result");
    QTest::newRow("same") << QVersionNumber(QT_VERSION_MAJOR, QT_VERSION_MINOR, 99) << u"a resolved"_s;
    QTest::newRow("older") << QVersionNumber(QT_VERSION_MAJOR, 0, 0) << u"a resolved"_s;
    QTest::newRow("newer") << QVersionNumber(QT_VERSION_MAJOR, QT_VERSION_MINOR + 1, 0)
                           << u"a failed qt_incompatible"_s;
    QTest::newRow("other major") << QVersionNumber(QT_VERSION_MAJOR - 1, 15, 0)
                                 << u"a failed qt_incompatible"_s;
}

void TestResolver::qtRule()
{
    QFETCH(QVersionNumber, qt);
    std::vector records{plugin(u"a"_s)};
    records[0].qtVersion = qt;
    resolve(records, offer);
    QTEST(states(records), "result");
}

void TestResolver::dependencies_data()
{
    using Records = std::vector<PluginRecord>;
    QTest::addColumn<Records>("records");
    QTest::addColumn<QString>("result");
    QTest::addColumn<QString>("waves");
    const QString one = u"1.0.0"_s;

    QTest::newRow("none") << Records{} << u""_s << u""_s;
    QTest::newRow("chain, in any order")
        << Records{plugin(u"c"_s, one, u"b"_s), plugin(u"b"_s, one, u"a"_s), plugin(u"a"_s)}
        << u"c resolved, b resolved, a resolved"_s << u"a | b | c"_s;
    QTest::newRow("diamond") << Records{plugin(u"d"_s, one, u"b, c"_s), plugin(u"b"_s, one, u"a"_s),
                                        plugin(u"c"_s, one, u"a"_s), plugin(u"a"_s)}
                             << u"d resolved, b resolved, c resolved, a resolved"_s << u"a | b c | d"_s;
    QTest::newRow("too old") << Records{plugin(u"a"_s, one, u"b 1.1"_s), plugin(u"b"_s)}
                             << u"a failed missing_dependency, b resolved"_s << u"b"_s;
    QTest::newRow("failure travels up")
        << Records{plugin(u"c"_s, one, u"b"_s), plugin(u"b"_s, one, u"nowhere"_s), plugin(u"a"_s)}
        << u"c failed dependency_failed, b failed missing_dependency, a resolved"_s << u"a"_s;
    QTest::newRow("itself") << Records{plugin(u"a"_s, one, u"a"_s)} << u"a failed cycle"_s << u""_s;
    QTest::newRow("cycle of three, and one that needs it")
        << Records{plugin(u"d"_s, one, u"a"_s), plugin(u"a"_s, one, u"b"_s), plugin(u"b"_s, one, u"c"_s),
                   plugin(u"c"_s, one, u"a"_s), plugin(u"e"_s)}
        << u"d failed dependency_failed, a failed cycle, b failed cycle, c failed cycle, e resolved"_s
        << u"e"_s;
    QTest::newRow("two cycles that share one")
        << Records{plugin(u"a"_s, one, u"b, c"_s), plugin(u"b"_s, one, u"a"_s), plugin(u"c"_s, one, u"a"_s)}
        << u"a failed cycle, b failed cycle, c failed cycle"_s << u""_s;
}

void TestResolver::dependencies()
{
    QFETCH(std::vector<PluginRecord>, records);
    const Waves waves = resolve(records, offer);
    QTEST(states(records), "result");
    QTEST(names(records, waves), "waves");
}

void TestResolver::namesTheCycle()
{
    std::vector records{plugin(u"d"_s, u"1"_s, u"a"_s), plugin(u"a"_s, u"1"_s, u"b"_s),
                        plugin(u"b"_s, u"1"_s, u"a"_s)};
    resolve(records, offer);
    for (const std::size_t member : {1U, 2U})
        QVERIFY2(records[member].failure->text.contains(u"a → b → a"_s),
                 qPrintable(records[member].failure->text));
}

void TestResolver::refusesDuplicates()
{
    std::vector records{plugin(u"a"_s), plugin(u"a"_s, u"2.0.0"_s), plugin(u"b"_s, u"1"_s, u"a"_s)};
    refuseDuplicates(records);
    const Waves waves = resolve(records, offer);
    QCOMPARE(states(records), u"a resolved, a failed duplicate_id, b resolved"_s);
    QCOMPARE(waves.front(), std::vector<std::size_t>{0});
}

void TestResolver::section_data()
{
    QTest::addColumn<QJsonObject>("section");
    QTest::addColumn<QString>("result");
    QTest::addColumn<QString>("said");
    QTest::newRow("left out") << QJsonObject() << u"a found"_s << u""_s;
    QTest::newRow("enabled") << QJsonObject{{u"enabled"_s, true}} << u"a found"_s << u""_s;
    QTest::newRow("enabled is text") << QJsonObject{{u"enabled"_s, u"yes"_s}}
                                     << u"a failed bad_configuration"_s
                                     << u"\"enabled\" must be true or false"_s;
    QTest::newRow("unknown key")
        << QJsonObject{{u"windw"_s, 1}} << u"a failed bad_configuration"_s
        << u"[plugins.a] is wrong: \"windw\" is not a known key. Did you mean \"window\"?"_s;
    QTest::newRow("unknown key, disabled") << QJsonObject{{u"enabled"_s, false}, {u"windw"_s, 1}}
                                           << u"a found"_s << u"Did you mean \"window\"?"_s;
}

void TestResolver::section()
{
    QFETCH(QJsonObject, section);
    QFETCH(QString, said);
    std::vector records{plugin(u"a"_s)};
    records[0].metadata.configSchema = {
        {u"properties"_s,
         QJsonObject{{u"window"_s, QJsonObject{{u"type"_s, u"integer"_s}, {u"default"_s, 7}}}}}};
    applySection(records[0], section);
    QTEST(states(records), "result");
    const QString text = records[0].failure ? records[0].failure->text : records[0].note;
    QVERIFY2(said.isEmpty() ? text.isEmpty() : text.contains(said), qPrintable(text));
    if (text.isEmpty())
        QCOMPARE(records[0].configuration, (QJsonObject{{u"window"_s, 7}}));
}

QTEST_APPLESS_MAIN(TestResolver)
#include "tst_resolver.moc"
