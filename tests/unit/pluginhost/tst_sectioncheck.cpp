// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/searchpath.h"
#include "pluginhost/sectioncheck.h"
#include "pluginscene.h"

#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::pluginhost;
using tidekeeper::test::PluginScene;

class TestSectionCheck : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void namesFaults_data();
    void namesFaults();
    void looksBesideTheProgramLast();
};

void TestSectionCheck::namesFaults_data()
{
    QTest::addColumn<Sections>("sections");
    QTest::addColumn<QStringList>("faults"); // "code field"
    const QJsonObject key{{u"key_file"_s, u"k"_s}};
    QTest::newRow("in order") << Sections{{u"needs-configuration"_s, key}} << QStringList();
    QTest::newRow("missing") << Sections() << QStringList{u"bad_configuration plugins.needs-configuration"_s};
    QTest::newRow("disabled, it may be unfinished")
        << Sections{{u"needs-configuration"_s, {{u"enabled"_s, false}}}} << QStringList();
    QTest::newRow("enabled is text") << Sections{{u"needs-configuration"_s, key},
                                                 {u"good"_s, {{u"enabled"_s, u"yes"_s}}}}
                                     << QStringList{u"bad_configuration plugins.good"_s};
    QTest::newRow("a plugin that is broken is there")
        << Sections{{u"needs-configuration"_s, key}, {u"bad-metadata"_s, {}}} << QStringList();
    QTest::newRow("all of them") << Sections{{u"needs-configuration"_s, {{u"key_fle"_s, u"k"_s}}},
                                             {u"goood"_s, {}},
                                             {u"xyzzy"_s, {}}}
                                 << QStringList{u"bad_configuration plugins.needs-configuration"_s,
                                                u"unknown_plugin plugins.goood"_s,
                                                u"unknown_plugin plugins.xyzzy"_s};
}

void TestSectionCheck::namesFaults()
{
    QFETCH(Sections, sections);
    PluginScene scene;
    scene.put({u"good"_s, u"needs-configuration"_s, u"bad-metadata"_s});
    QStringList faults;
    for (const Error &fault : checkSections(scene.options.searchPath, sections))
        faults.append(fault.code + u' ' + fault.details.value("field"_L1).toString());
    QTEST(faults, "faults");
}

void TestSectionCheck::looksBesideTheProgramLast()
{
    const QStringList folders = searchPath({u"/first"_s, u"/second"_s});
    QCOMPARE(folders.first(2), (QStringList{u"/first"_s, u"/second"_s}));
    QCOMPARE(folders.value(2), QCoreApplication::applicationDirPath() + u"/../lib/tidekeeper/plugins"_s);
}

QTEST_GUILESS_MAIN(TestSectionCheck)
#include "tst_sectioncheck.moc"
