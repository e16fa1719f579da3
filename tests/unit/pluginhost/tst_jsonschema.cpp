// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/jsonschema.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::pluginhost;

namespace {

QJsonObject json(const QByteArray &text)
{
    return QJsonDocument::fromJson(text).object();
}

const QJsonObject schema = json(R"({
    "type": "object",
    "required": ["key_file"],
    "properties": {
        "key_file": { "type": "string", "minLength": 1 },
        "batch_size": { "type": "integer", "minimum": 1, "maximum": 500, "default": 100 },
        "share": { "type": "number", "minimum": 0 },
        "enforce": { "type": "boolean", "default": true },
        "mode": { "enum": ["active", "observe"] },
        "window": { "type": "integer", "format": "duration", "minimum": 5400000, "maximum": 604800000 },
        "slack": { "type": "integer", "format": "duration", "minimum": 0, "maximum": 60000, "default": 2000 },
        "cron": { "type": "string", "format": "cron", "description": "When to scan." },
        "places": { "type": "integer", "minimum": 1, "description": "How many calls may run at once." },
        "name": { "type": "string", "pattern": "^[a-z]+$" },
        "labels": { "type": "object", "additionalProperties": { "type": "string" } },
        "quiet": {
            "type": "object",
            "additionalProperties": false,
            "properties": { "hours": { "type": "integer", "default": 24 }, "zone": { "type": "string" } }
        },
        "rules": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["event"],
                "properties": { "event": { "type": "string" }, "every": { "type": "integer", "default": 5 },
                                "at": { "type": "string", "format": "cron" } }
            }
        }
    }
})");

} // namespace

class TestJsonSchema : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void accepts_data();
    void accepts();
    void refuses_data();
    void refuses();
    void namesEveryFault();
    void neverRepeatsText();
    void knowsNoKeysWithoutASchema();
    void appliesRulesForTheWhole();
};

void TestJsonSchema::accepts_data()
{
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("complete");
    QTest::newRow("defaults") << QByteArray(R"({"key_file": "k"})")
                              << QByteArray(
                                     R"({"key_file": "k", "batch_size": 100, "enforce": true, "slack": 2000,
                                               "quiet": {"hours": 24}})");
    QTest::newRow("own values")
        << QByteArray(R"({"key_file": "k", "batch_size": 1, "enforce": false, "slack": 0, "cron": "",
                                                 "quiet": {"hours": 1, "zone": "UTC"}, "share": 1,
                                                 "mode": "observe", "labels": {"any": "thing"}})")
        << QByteArray(R"({"key_file": "k", "batch_size": 1, "enforce": false, "slack": 0, "cron": "",
                                                 "quiet": {"hours": 1, "zone": "UTC"}, "share": 1,
                                                 "mode": "observe", "labels": {"any": "thing"}})");
    QTest::newRow("defaults inside lists")
        << QByteArray(R"({"key_file": "k", "rules": [{"event": "e"}, {"event": "f", "every": 1}]})")
        << QByteArray(
               R"({"key_file": "k", "batch_size": 100, "enforce": true, "slack": 2000, "quiet": {"hours": 24},
                         "rules": [{"event": "e", "every": 5}, {"event": "f", "every": 1}]})");
}

void TestJsonSchema::accepts()
{
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, complete);
    const Result<QJsonObject> result = checkAgainstSchema(schema, json(value));
    QVERIFY2(result, result ? "" : qPrintable(result.error().text));
    QCOMPARE(*result, json(complete));
}

void TestJsonSchema::refuses_data()
{
    QTest::addColumn<QByteArray>("value"); // "key_file" is added
    QTest::addColumn<QString>("text");
    const auto row = [](const char *name, const char *value, const QString &text) {
        QTest::newRow(name) << QByteArray(value) << text;
    };
    row("unknown key", R"({"batchsize": 3})",
        u"\"batchsize\" is not a known key. Did you mean \"batch_size\"?"_s);
    row("unknown key, nothing near", R"({"xyzzy": 3})", u"\"xyzzy\" is not a known key."_s);
    row("unknown key inside", R"({"quiet": {"hour": 3}})",
        u"\"quiet.hour\" is not a known key. Did you mean \"hours\"?"_s);
    row("text for a number", R"({"batch_size": "many"})",
        u"\"batch_size\" must be a whole number from 1 to 500, but it is text."_s);
    row("fraction", R"({"batch_size": 1.5})",
        u"\"batch_size\" must be a whole number from 1 to 500, but it is 1.5."_s);
    row("out of range", R"({"batch_size": 501})",
        u"\"batch_size\" must be a whole number from 1 to 500, but it is 501."_s);
    row("negative", R"({"share": -1})", u"\"share\" must be a number of at least 0, but it is -1."_s);
    row("number for a switch", R"({"enforce": 1})", u"\"enforce\" must be true or false, but it is 1."_s);
    row("enum", R"({"mode": "obserf"})",
        u"\"mode\" must be one of \"active\", \"observe\", but it is text. Did you mean \"observe\"?"_s);
    row("duration", R"({"window": "soon"})",
        u"\"window\" must be a duration from \"90m\" to \"7d\", such as \"90m\", but it is text of another form."_s);
    row("duration out of range", R"({"window": 500})",
        u"\"window\" must be a duration from \"90m\" to \"7d\", such as \"90m\", but it is \"500ms\"."_s);
    row("duration, sample is the default", R"({"slack": 61000})",
        u"\"slack\" must be a duration from \"0ms\" to \"1m\", such as \"2s\", but it is \"61s\"."_s);
    row("cron", R"({"cron": "61 * * * *"})",
        u"\"cron\" must be a cron pattern. Cron field \"minute\": \"61\" is not known here; use 0 to 59. When to scan."_s);
    row("cron inside a list", R"({"rules": [{"event": "e", "at": "* *"}]})",
        u"\"rules.0.at\" must be a cron pattern. A cron pattern has 5 fields (minute hour day month "
        u"weekday), 6 with "
        u"seconds first, or is one of @hourly, @daily, @weekly, @monthly, @yearly; this has 2."_s);
    row("number for cron", R"({"cron": 5})", u"\"cron\" must be text, but it is 5. When to scan."_s);
    row("described", R"({"places": 0})",
        u"\"places\" must be a whole number of at least 1, but it is 0. How many calls may run at once."_s);
    row("pattern", R"({"name": "A"})", u"\"name\" must be text that matches ^[a-z]+$, but it is text."_s);
    row("free table", R"({"labels": {"a": 1}})", u"\"labels.a\" must be text, but it is 1."_s);
    row("inside a list", R"({"rules": [{"event": "e"}, {"event": 7}]})",
        u"\"rules.1.event\" must be text, but it is 7."_s);
    row("missing inside a list", R"({"rules": [{"every": 1}]})",
        u"\"rules.0.event\" is missing; it must be text."_s);
    row("table for a list", R"({"rules": {}})", u"\"rules\" must be a list, but it is a table."_s);
    row("null", R"({"batch_size": null})",
        u"\"batch_size\" must be a whole number from 1 to 500, but it is null."_s);
    row("empty", R"({"key_file": ""})",
        u"\"key_file\" must be text of at least 1 characters, but it is empty."_s);
}

void TestJsonSchema::refuses()
{
    QFETCH(QByteArray, value);
    QJsonObject object = json(value);
    if (!object.contains(u"key_file"_s))
        object.insert(u"key_file"_s, u"k"_s);
    const Result<QJsonObject> result = checkAgainstSchema(schema, object);
    QVERIFY(!result);
    QCOMPARE(result.error().code, u"schema_violation"_s);
    QTEST(result.error().text, "text");
}

void TestJsonSchema::namesEveryFault()
{
    const Result<QJsonObject> result = checkAgainstSchema(
        schema, json(R"({"batch_size": 0, "enforce": "no", "typo": 1, "quiet": {"typo": 1}})"));
    QVERIFY(!result);
    const QJsonArray keys{u"quiet.typo"_s, u"typo"_s, u"key_file"_s, u"batch_size"_s, u"enforce"_s};
    QCOMPARE(result.error().details.value(u"keys"_s).toArray(), keys);
}

void TestJsonSchema::neverRepeatsText()
{
    const Result<QJsonObject> result = checkAgainstSchema(
        schema, json(R"({"key_file": "k", "batch_size": "hunter2", "name": "Hunter2", "mode": "hunter2"})"));
    QVERIFY(!result);
    QVERIFY(!result.error().text.contains("hunter2"_L1, Qt::CaseInsensitive));
}

void TestJsonSchema::knowsNoKeysWithoutASchema()
{
    QVERIFY(checkAgainstSchema({}, {}));
    QCOMPARE(checkAgainstSchema({}, {{u"a"_s, 1}}).error().text, u"\"a\" is not a known key."_s);
}

void TestJsonSchema::appliesRulesForTheWhole()
{
    const QJsonObject either = json(R"({
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "oneOf": [ { "required": ["a"] }, { "required": ["b"] } ]
    })");
    QVERIFY(checkAgainstSchema(either, {{u"a"_s, 1}}));
    const Result<QJsonObject> both = checkAgainstSchema(either, {{u"a"_s, 1}, {u"b"_s, 1}});
    QVERIFY(!both);
    QVERIFY(both.error().text.contains("oneOf"_L1));
}

QTEST_APPLESS_MAIN(TestJsonSchema)
#include "tst_jsonschema.moc"
