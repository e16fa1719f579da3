// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/plugincheck.h"
#include "pluginscene.h"

#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::pluginhost;
using tidekeeper::test::PluginScene;

class TestPluginCheck : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void verdict_data();
    void verdict();
    void refusesWhatIsNoPlugin();
    void callsNothing();
};

void TestPluginCheck::verdict_data()
{
    QTest::addColumn<QString>("fixture");
    QTest::addColumn<QString>("reason"); // empty: sound
    QTest::addColumn<QString>("warning");
    QTest::newRow("good") << u"good"_s << u""_s << u""_s;
    QTest::newRow("dependencies need not be there") << u"dependent"_s << u""_s << u""_s;
    QTest::newRow("disabled by default") << u"marker"_s << u""_s << u""_s;
    QTest::newRow("unknown service") << u"missing-service"_s << u""_s << u"dev.tidekeeper.Clok/1"_s;
    QTest::newRow("mistyped key") << u"needs-configuration"_s << u""_s << u"\"Licence\""_s;
    QTest::newRow("wrong IID") << u"wrong-iid"_s << u"wrong_iid"_s << u""_s;
    QTest::newRow("bad metadata") << u"bad-metadata"_s << u"bad_metadata"_s << u""_s;
    QTest::newRow("SDK") << u"sdk-too-new"_s << u"sdk_too_new"_s << u""_s;
    QTest::newRow("load error") << u"load-error"_s << u"load_error"_s << u""_s;
    QTest::newRow("interface") << u"missing-interface"_s << u"missing_interface"_s << u""_s;
}

void TestPluginCheck::verdict()
{
    QFETCH(QString, fixture);
    QFETCH(QString, reason);
    QFETCH(QString, warning);
    PluginScene scene;
    const Result<PluginCheck> check = checkPlugin(scene.put(fixture));
    QVERIFY(check);
    QCOMPARE(check->record.failure ? toString(check->record.failure->reason) : u""_s, reason);
    QCOMPARE(check->record.state == PluginState::Loaded, reason.isEmpty());
    if (warning.isEmpty())
        QCOMPARE(check->warnings, QStringList());
    else
        QVERIFY2(check->warnings.join(u'\n').contains(warning), qPrintable(check->warnings.join(u'\n')));
}

void TestPluginCheck::refusesWhatIsNoPlugin()
{
    PluginScene scene;
    QCOMPARE(checkPlugin(scene.put(u"plain-library"_s)).error().code, u"not_a_plugin"_s);
    QCOMPARE(checkPlugin(scene.put(u"foreign-plugin"_s)).error().code, u"not_a_plugin"_s);
    QCOMPARE(checkPlugin(u"/nowhere/x.so"_s).error().code, u"not_found"_s);
    QCOMPARE(readMetadata(u"/nowhere/x.so"_s).error().code, u"not_found"_s);
}

void TestPluginCheck::callsNothing()
{
    PluginScene scene;
    const Result<PluginCheck> check = checkPlugin(scene.put(u"initialize-throws"_s));
    QVERIFY(check && !check->record.failure);
}

QTEST_GUILESS_MAIN(TestPluginCheck)
#include "tst_plugincheck.moc"
