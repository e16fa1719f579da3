// SPDX-License-Identifier: Apache-2.0
#include "decide/policy.h"
#include "decide/reportrequest.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace gmailquota;
using tidekeeper::Status;

class TestSettings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void policyOfTheDefaults();
    void sourcesOfTheConfiguration();
    void namesOfAccountsComeFromTheFile();
    void operatorsWin();
    void whatIsLeftOutReturnsToTheFile();
    void placesOfAProject();
    void refusedChangesChangeNothing_data();
    void refusedChangesChangeNothing();
    void keyTtlInTheFile();
    void unknownKeysNameTheirNeighbours();
    void reports();
    void badReports_data();
    void badReports();

private:
    static Settings configured(const QJsonObject &section = {},
                               const QJsonObject &projects = {{u"default"_s, QJsonObject{}},
                                                              {u"old"_s,
                                                               QJsonObject{{u"preset"_s, u"gmail-legacy"_s},
                                                                           {u"account_capacity"_s, 500},
                                                                           {u"day_action"_s, u"refuse"_s}}}});
};

Settings TestSettings::configured(const QJsonObject &section, const QJsonObject &projects)
{
    Settings settings;
    const Status status = settingsOf(section, projects, &settings);
    if (!status.ok())
        qFatal("%s", qPrintable(status.text));
    return settings;
}

void TestSettings::policyOfTheDefaults()
{
    const Settings settings = configured();
    const QJsonObject policy = policyOf(settings.section, settings.projects[u"default"_s]);
    const QJsonObject expected{
        {u"account_capacity"_s, 360},
        {u"account_refill_per_minute"_s, 5'450},
        {u"project_capacity"_s, 72'000},
        {u"project_refill_per_minute"_s, 1'090'000},
        {u"published_account"_s, 6'000},
        {u"published_project"_s, 1'200'000},
        {u"day_budget"_s, 80'000'000},
        {u"day_action"_s, u"warn"_s},
        {u"day_zone"_s, u"America/Los_Angeles"_s},
        {u"slots"_s, 10},
        {u"bulk_reserve"_s, 0.5},
        {u"project_bulk_reserve"_s, 0.2},
        {u"key_ttl_ms"_s, 3'600'000},
        {u"send_slack_ms"_s, 2'000},
        {u"fail_open"_s, true},
        {u"local_fallback"_s, true},
        {u"enforce"_s, true},
        {u"largest_single_cost"_s, 100},
        {u"dearest_method"_s, policy["dearest_method"_L1]},
        {u"method_families"_s, policy["method_families"_L1]},
        {u"account_key"_s, u"base64url"_s},
        {u"account_key_file"_s, QString()},
    };
    QCOMPARE(policy, expected);
    QCOMPARE(settings.projects[u"default"_s].costs.cost(policy["dearest_method"_L1].toString()),
             std::optional<qint64>(100));
    QCOMPARE(policy["method_families"_L1]["gmail.users.messages.send"_L1].toString(), u"mail_sending"_s);
    QCOMPARE(policyOf(settings.section, settings.projects[u"old"_s])["day_budget"_L1], QJsonValue(0));
}

void TestSettings::sourcesOfTheConfiguration()
{
    const Settings settings = configured({{u"enforce"_s, true}, {u"fail_open"_s, false}, {u"slots"_s, 5}});
    const QJsonObject described = describe(settings, {{u"old"_s, {u"Mind the gap."_s}}});
    QCOMPARE(described["name"_L1].toString(), u"gmail"_s);
    QCOMPARE(described["fail_open"_L1], QJsonValue(false));
    QCOMPARE(described["project_bulk_reserve"_L1], QJsonValue(0.2));
    QCOMPARE(described["local_fallback"_L1], QJsonValue(true));
    QCOMPARE(described["key_ttl"_L1], QJsonValue(3'600'000));
    const QJsonObject sources = described["sources"_L1].toObject();
    QCOMPARE(sources["enforce"_L1].toString(), u"default"_s);
    QCOMPARE(sources["fail_open"_L1].toString(), u"file"_s);
    const QJsonObject old{
        {u"account_capacity"_s, u"file"_s},
        {u"account_refill_per_minute"_s, u"preset"_s},
        {u"project_capacity"_s, u"preset"_s},
        {u"project_refill_per_minute"_s, u"preset"_s},
        {u"day_budget"_s, u"preset"_s},
        {u"day_action"_s, u"file"_s},
        {u"slots"_s, u"file"_s},
    };
    QCOMPARE(sources["projects"_L1]["old"_L1].toObject(), old);
    QCOMPARE(sources["projects"_L1]["default"_L1]["day_action"_L1].toString(), u"default"_s);
    const QJsonObject project = described["projects"_L1]["old"_L1].toObject();
    QCOMPARE(project["account_capacity"_L1].toInt(), 500);
    QCOMPARE(project["preset"_L1].toString(), u"gmail-legacy"_s);
    QCOMPARE(project["warnings"_L1].toArray(), QJsonArray{u"Mind the gap."_s});
    QVERIFY(!project.contains("method_families"_L1));
}

void TestSettings::namesOfAccountsComeFromTheFile()
{
    Settings settings =
        configured({{u"account_key"_s, u"hmac"_s}, {u"account_key_file"_s, u"/etc/names.key"_s}});
    QCOMPARE(settings.sources["account_key"_L1].toString(), u"file"_s);
    const Status status = adjust({{u"account_key"_s, u"base64url"_s}}, &settings);
    QVERIFY2(status.text.contains(u"changes only at start"_s), qPrintable(status.text));
    QVERIFY(adjust({{u"enforce"_s, false}}, &settings).ok()); // other changes leave them
    const QJsonObject policy = policyOf(settings.section, settings.projects[u"old"_s]);
    QCOMPARE(policy["account_key"_L1].toString(), u"hmac"_s);
    QCOMPARE(policy["account_key_file"_L1].toString(), u"/etc/names.key"_s);
}

void TestSettings::operatorsWin()
{
    Settings settings = configured({{u"fail_open"_s, false}});
    const QJsonObject changes{
        {u"enforce"_s, false},
        {u"fail_open"_s, true},
        {u"bulk_reserve"_s, 0.25},
        {u"send_slack"_s, 0},
        {u"key_ttl"_s, 7'200'000},
        {u"projects"_s,
         QJsonObject{{u"old"_s,
                      QJsonObject{{u"account_capacity"_s, 600},
                                  {u"day_budget"_s, 1'000},
                                  {u"day_action"_s, u"refuse-bulk"_s}}}}},
    };
    const Status status = adjust(changes, &settings);
    QVERIFY2(status.ok(), qPrintable(status.text));
    const QJsonObject described = describe(settings, {});
    for (const auto key : {"enforce"_L1, "fail_open"_L1, "bulk_reserve"_L1, "send_slack"_L1, "key_ttl"_L1}) {
        QCOMPARE(described[key], changes[key]);
        QCOMPARE(described["sources"_L1][key].toString(), u"operator"_s);
    }
    const QJsonObject old = described["projects"_L1]["old"_L1].toObject();
    QCOMPARE(old["account_capacity"_L1].toInt(), 600);
    QCOMPARE(old["day_budget"_L1].toInt(), 1'000);
    QCOMPARE(old["day_action"_L1].toString(), u"refuse-bulk"_s);
    QCOMPARE(old["enforce"_L1], QJsonValue(false));
    QCOMPARE(old["project_capacity"_L1].toInt(), 72'000);
    const QJsonValue sources = described["sources"_L1]["projects"_L1]["old"_L1];
    QCOMPARE(sources["account_capacity"_L1].toString(), u"operator"_s);
    QCOMPARE(sources["day_action"_L1].toString(), u"operator"_s);
    QCOMPARE(sources["project_capacity"_L1].toString(), u"preset"_s);
}

void TestSettings::whatIsLeftOutReturnsToTheFile()
{
    const Settings file = configured({{u"fail_open"_s, false}});
    Settings settings = file;
    QVERIFY(adjust({{u"fail_open"_s, true}}, &settings).ok());
    settings = file; // as the plugin does before each
    QVERIFY(adjust({}, &settings).ok());
    QCOMPARE(describe(settings, {}), describe(file, {}));
}

void TestSettings::placesOfAProject()
{
    Settings settings = configured({{u"slots"_s, 5}});
    QVERIFY(adjust({{u"slots"_s, 7}, {u"projects"_s, QJsonObject{{u"old"_s, QJsonObject{{u"slots"_s, 3}}}}}},
                   &settings)
                .ok());
    QCOMPARE(settings.projects[u"default"_s].places, 7);
    QCOMPARE(settings.projects[u"old"_s].places, 3);
}

void TestSettings::refusedChangesChangeNothing_data()
{
    QTest::addColumn<QJsonObject>("changes");
    QTest::addColumn<QString>("field");
    const auto section = [](const char *name, const QString &key, const QJsonValue &value) {
        QTest::newRow(name) << QJsonObject{{u"bulk_reserve"_s, 0.1}, {key, value}} << key;
    };
    for (const QString &flag : {u"enforce"_s, u"fail_open"_s, u"local_fallback"_s})
        section(qPrintable(flag + u" as text"_s), flag, u"yes"_s);
    section("flag as a number", u"enforce"_s, 1);
    section("null", u"enforce"_s, QJsonValue::Null);
    section("share", u"project_bulk_reserve"_s, 0.96);
    section("share below 0", u"project_bulk_reserve"_s, -0.1);
    section("share as text", u"project_bulk_reserve"_s, u"0.5"_s);
    section("slack", u"send_slack"_s, 60'001);
    section("slack as text", u"send_slack"_s, u"2s"_s);
    section("fraction", u"send_slack"_s, 0.5);
    section("key_ttl", u"key_ttl"_s, 59'999);
    section("no places", u"slots"_s, 0);
    section("too many places", u"slots"_s, 1'001);
    section("unknown", u"fail_opened"_s, true);
    section("enabled is not ours", u"enabled"_s, false);
    section("projects", u"projects"_s, 7);
    section("only at start", u"account_key"_s, u"hmac"_s);
    section("only at start, as it is", u"account_key"_s, u"base64url"_s);
    section("file only at start", u"account_key_file"_s, u"/etc/names.key"_s);

    const auto project = [](const char *name, const QString &path, const QJsonValue &limits,
                            const QString &where = u"old"_s) {
        QTest::newRow(name) << QJsonObject{{u"enforce"_s, false},
                                           {u"projects"_s, QJsonObject{{where, limits}}}}
                            << u"projects."_s + path;
    };
    project("unknown project", u"new"_s, QJsonObject{}, u"new"_s);
    project("project is no object", u"old"_s, 5);
    for (const QString &limit : {u"account_capacity"_s, u"account_refill_per_minute"_s, u"project_capacity"_s,
                                 u"project_refill_per_minute"_s, u"slots"_s}) {
        for (const QJsonValue &value : {QJsonValue(0), QJsonValue(-1), QJsonValue(1.5), QJsonValue(2e9),
                                        QJsonValue(u"10"_s), QJsonValue()})
            project(qPrintable(limit + u' ' + value.toVariant().toString()), u"old."_s + limit,
                    QJsonObject{{u"day_budget"_s, 1}, {limit, value}});
    }
    project("day budget", u"old.day_budget"_s, QJsonObject{{u"day_budget"_s, -1}});
    project("day action", u"old.day_action"_s, QJsonObject{{u"day_action"_s, u"stop"_s}});
    project("unknown limit", u"old.capacity"_s, QJsonObject{{u"capacity"_s, 1}});
    project("preset cannot change", u"old.preset"_s, QJsonObject{{u"preset"_s, u"gmail-2026"_s}});

    // A bucket must not be forgotten before it is full: key_ttl > 4 × capacity ÷ refill, here 1 h.
    project("capacity against key_ttl", u"old.account_capacity"_s,
            QJsonObject{{u"account_capacity"_s, 204'375}});
    project("refill against key_ttl", u"old.project_refill_per_minute"_s,
            QJsonObject{{u"project_refill_per_minute"_s, 4'800}});
    QTest::newRow("key_ttl against a capacity")
        << QJsonObject{{u"key_ttl"_s, 60'000},
                       {u"projects"_s, QJsonObject{{u"old"_s, QJsonObject{{u"account_capacity"_s, 3'500}}}}}}
        << u"key_ttl"_s;
}

void TestSettings::refusedChangesChangeNothing()
{
    QFETCH(QJsonObject, changes);
    QFETCH(QString, field);

    Settings settings = configured();
    const QJsonObject before = describe(settings, {});
    const Status status = adjust(changes, &settings);
    QCOMPARE(status.code, u"invalid_settings"_s);
    QCOMPARE(status.details["field"_L1].toString(), field);
    QVERIFY2(status.text.startsWith(field), qPrintable(status.text));
    QCOMPARE(describe(settings, {}), before);
}

void TestSettings::keyTtlInTheFile()
{
    Settings settings;
    const QJsonObject slow{{u"account_capacity"_s, 600}, {u"account_refill_per_minute"_s, 40}};
    const Status status = settingsOf({}, {{u"slow"_s, slow}}, &settings);
    QCOMPARE(status.code, u"bad_configuration"_s);
    QCOMPARE(status.details["field"_L1].toString(), u"plugins.gmail-quota.key_ttl"_s);
    QVERIFY(status.text.contains(u"\"slow\""_s));
    QVERIFY(settingsOf({{u"key_ttl"_s, 3'600'001}}, {{u"slow"_s, slow}}, &settings).ok());
}

void TestSettings::unknownKeysNameTheirNeighbours()
{
    Settings settings = configured();
    Status status = adjust({{u"failopen"_s, true}}, &settings);
    QCOMPARE(status.details["near"_L1].toArray(), QJsonArray{u"fail_open"_s});
    QVERIFY(status.text.contains(u"Did you mean \"fail_open\"?"_s));
    const QJsonObject limits{{u"account_capcity"_s, 1}};
    status = adjust({{u"projects"_s, QJsonObject{{u"old"_s, limits}}}}, &settings);
    QCOMPARE(status.details["near"_L1][0].toString(), u"account_capacity"_s);
}

void TestSettings::reports()
{
    ReportRequest request;
    QVERIFY(readReport({{u"account"_s, u" A@example.com"_s}, {u"status"_s, 200}}, &request).ok());
    QCOMPARE(request.account, u" A@example.com"_s);
    QCOMPARE(request.project, u"default"_s);
    QVERIFY(request.grantId.isEmpty());
    QVERIFY(request.answer.body.isUndefined());

    const QJsonObject whole{{u"account"_s, u"a"_s}, {u"project"_s, u"old"_s},
                            {u"status"_s, 599},     {u"headers"_s, QJsonObject{{u"Date"_s, u"x"_s}}},
                            {u"body"_s, u""_s},     {u"grant_id"_s, u"g"_s}};
    QVERIFY(readReport(whole, &request).ok());
    QCOMPARE(request.project, u"old"_s);
    QCOMPARE(request.grantId, u"g"_s);
    QCOMPARE(request.answer.status, 599);
    QCOMPARE(request.answer.headers["Date"_L1].toString(), u"x"_s);
    QVERIFY(request.answer.body.isString());
}

void TestSettings::badReports_data()
{
    QTest::addColumn<QString>("field");
    QTest::addColumn<QJsonValue>("value"); // undefined: missing
    const auto row = [](const char *name, const QString &field, const QJsonValue &value) {
        QTest::newRow(name) << field << value;
    };
    row("no account", u"account"_s, QJsonValue::Undefined);
    row("empty account", u"account"_s, u""_s);
    row("blank account", u"account"_s, u"  "_s);
    row("account as a number", u"account"_s, 5);
    row("long account", u"account"_s, QString(161, u'é'));
    row("10 kB account", u"account"_s, QString(10'000, u'a'));
    row("no status", u"status"_s, QJsonValue::Undefined);
    row("status as text", u"status"_s, u"429"_s);
    row("status null", u"status"_s, QJsonValue::Null);
    row("status fraction", u"status"_s, 429.5);
    row("status negative", u"status"_s, -1);
    row("status 99", u"status"_s, 99);
    row("status 600", u"status"_s, 600);
    row("status huge", u"status"_s, 1e300);
    row("headers as text", u"headers"_s, u"Retry-After: 5"_s);
    row("headers as a list", u"headers"_s, QJsonArray{});
    row("headers null", u"headers"_s, QJsonValue::Null);
    row("header as a number", u"headers"_s, QJsonObject{{u"retry-after"_s, 5}});
    row("header as a list of numbers", u"headers"_s, QJsonObject{{u"retry-after"_s, QJsonArray{5}}});
    row("body as a number", u"body"_s, 5);
    row("body as a list", u"body"_s, QJsonArray{});
    row("body null", u"body"_s, QJsonValue::Null);
    row("project empty", u"project"_s, u""_s);
    row("project as a number", u"project"_s, 1);
    row("grant as a number", u"grant_id"_s, 1);
    row("grant empty", u"grant_id"_s, u""_s);
    row("unknown field", u"header"_s, QJsonObject{});
}

void TestSettings::badReports()
{
    QFETCH(QString, field);
    QFETCH(QJsonValue, value);
    QJsonObject json{{u"account"_s, u"a@example.com"_s}, {u"status"_s, 429}};
    json[field] = value;
    ReportRequest request;
    const Status status = readReport(json, &request);
    QCOMPARE(status.code, u"invalid_request"_s);
    QCOMPARE(status.details["field"_L1].toString(), field);
    if (field == "header"_L1)
        QCOMPARE(status.details["near"_L1].toArray(), QJsonArray{u"headers"_s});
}

QTEST_APPLESS_MAIN(TestSettings)
#include "tst_settings.moc"
