// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/metadataschema.h"
#include "pluginhost/pluginmetadata.h"

#include <QtCore/QJsonArray>
#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::pluginhost;

namespace {

QJsonObject minimal()
{
    return {{u"Id"_s, u"hello"_s},         {u"Name"_s, u"Hello"_s},          {u"Version"_s, u"1.2"_s},
            {u"SdkVersion"_s, u"1.0.0"_s}, {u"Description"_s, u"Greets."_s}, {u"License"_s, u"MIT"_s},
            {u"Provides"_s, QJsonArray()}};
}

} // namespace

class TestPluginMetadata : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void version_data();
    void version();
    void fillsInWhatIsLeftOut();
    void refuses_data();
    void refuses();
    void toleratesKeysOfLaterSdks();
};

void TestPluginMetadata::version_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("read"); // empty: refused
    QTest::newRow("three") << u"1.2.3"_s << u"1.2.3"_s;
    QTest::newRow("two") << u"1.2"_s << u"1.2.0"_s;
    QTest::newRow("one") << u"7"_s << u"7.0.0"_s;
    QTest::newRow("zero") << u"0.0.0"_s << u"0.0.0"_s;
    QTest::newRow("empty") << u""_s << u""_s;
    QTest::newRow("word") << u"one"_s << u""_s;
    QTest::newRow("four") << u"1.2.3.4"_s << u""_s;
    QTest::newRow("suffix") << u"1.2.3-beta"_s << u""_s;
    QTest::newRow("dot at the end") << u"1.2."_s << u""_s;
    QTest::newRow("negative") << u"-1.2"_s << u""_s;
    QTest::newRow("plus") << u"+1.2"_s << u""_s;
    QTest::newRow("space inside") << u"1. 2"_s << u""_s;
    QTest::newRow("line feed") << u"1.2\n"_s << u""_s;
    QTest::newRow("space") << u" 1.2"_s << u""_s;
    QTest::newRow("larger than a number") << u"99999999999.0.0"_s << u""_s;
}

void TestPluginMetadata::version()
{
    QFETCH(QString, text);
    QFETCH(QString, read);
    const Result<QVersionNumber> result = parseVersion(text);
    QCOMPARE(result.has_value(), !read.isEmpty());
    if (result)
        QCOMPARE(result->toString(), read);
}

void TestPluginMetadata::fillsInWhatIsLeftOut()
{
    const Result<PluginMetadata> metadata = parseMetadata(minimal());
    QVERIFY2(metadata, metadata ? "" : qPrintable(metadata.error().text));
    QCOMPARE(metadata->compatVersion, QVersionNumber(1, 2, 0));
    QVERIFY(metadata->enabledByDefault);
    QVERIFY(metadata->needs.isEmpty() && metadata->dependencies.isEmpty()
            && metadata->configSchema.isEmpty());
}

void TestPluginMetadata::refuses_data()
{
    QTest::addColumn<QString>("key");
    QTest::addColumn<QJsonValue>("value"); // undefined: the key is taken out
    QTest::addColumn<QString>("said");
    const QList<std::pair<const char *, QString>> texts{{"Id", u"Id"_s},
                                                        {"Name", u"Name"_s},
                                                        {"Version", u"Version"_s},
                                                        {"SdkVersion", u"SdkVersion"_s},
                                                        {"Description", u"Description"_s},
                                                        {"License", u"License"_s},
                                                        {"Provides", u"Provides"_s}};
    for (const auto &[name, key] : texts) {
        QTest::addRow("no %s", name) << key << QJsonValue(QJsonValue::Undefined)
                                     << u"\"%1\" is missing"_s.arg(key);
        QTest::addRow("%s is a number", name) << key << QJsonValue(1) << u"\"%1\" must be "_s.arg(key);
    }
    const auto row = [](const char *name, const QString &key, const QJsonValue &value, const QString &said) {
        QTest::newRow(name) << key << value << said;
    };
    row("Id with a path", u"Id"_s, u"../x"_s, u"\"Id\" must be"_s);
    row("Version is a word", u"Version"_s, u"one"_s, u"\"Version\": This is no version"_s);
    row("CompatVersion too new", u"CompatVersion"_s, u"2.0"_s, u"must not be newer than \"Version\""_s);
    row("CompatVersion is a word", u"CompatVersion"_s, u"new"_s, u"\"CompatVersion\": This is no version"_s);
    row("Needs is text", u"Needs"_s, u"all"_s, u"\"Needs\" must be a list"_s);
    row("Needs holds a number", u"Needs"_s, QJsonArray{1}, u"\"Needs.0\" must be text"_s);
    row("dependency without version", u"Dependencies"_s, QJsonArray{QJsonObject{{u"Id"_s, u"a"_s}}},
        u"\"Dependencies.0.Version\" is missing"_s);
    row("dependency with a word for version", u"Dependencies"_s,
        QJsonArray{QJsonObject{{u"Id"_s, u"a"_s}, {u"Version"_s, u"new"_s}}},
        u"\"Dependencies.a\": This is no version"_s);
    row("ConfigSchema is a list", u"ConfigSchema"_s, QJsonArray(), u"\"ConfigSchema\" must be a table"_s);
    row("EnabledByDefault is text", u"EnabledByDefault"_s, u"yes"_s,
        u"\"EnabledByDefault\" must be true or false"_s);
}

void TestPluginMetadata::refuses()
{
    QFETCH(QString, key);
    QFETCH(QJsonValue, value);
    QFETCH(QString, said);
    QJsonObject json = minimal();
    if (value.isUndefined())
        json.remove(key);
    else
        json.insert(key, value);
    const Result<PluginMetadata> metadata = parseMetadata(json);
    QVERIFY(!metadata);
    QCOMPARE(metadata.error().code, u"bad_metadata"_s);
    QVERIFY2(metadata.error().text.contains(said), qPrintable(metadata.error().text));
}

void TestPluginMetadata::toleratesKeysOfLaterSdks()
{
    QJsonObject json = minimal();
    json.insert(u"Dependancies"_s, QJsonArray());
    QVERIFY(parseMetadata(json));
    QCOMPARE(unknownMetadataKeys(json),
             QStringList{u"The metadata key \"Dependancies\" is not known and has no effect. "
                         "Did you mean \"Dependencies\"?"_s});
}

QTEST_APPLESS_MAIN(TestPluginMetadata)
#include "tst_pluginmetadata.moc"
