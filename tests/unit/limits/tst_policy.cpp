// SPDX-License-Identifier: Apache-2.0
#include "limits/keys.h"
#include "limits/policy.h"
#include "limits/redisanswer.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

class TestPolicy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void refusesBadFields_data();
    void refusesBadFields();
    void keyTtlMustOutlastASlowBucket_data();
    void keyTtlMustOutlastASlowBucket();
    void worstMinuteIsCounted_data();
    void worstMinuteIsCounted();
    void warnsOfCallsThatCanNeverBeGranted();
    void largestCostByLane();
    void publishesEveryField();
    void knowsTheFamilyOfAMethod();
    void keysHideAccounts_data();
    void keysHideAccounts();
    void answersOfRedis_data();
    void answersOfRedis();

private:
    static QJsonObject sound()
    {
        return {
            {u"account_capacity"_s, 360},
            {u"account_refill_per_minute"_s, 5450},
            {u"project_capacity"_s, 72'000},
            {u"project_refill_per_minute"_s, 1'090'000},
            {u"published_account"_s, 6'000},
            {u"published_project"_s, 1'200'000},
            {u"bulk_reserve"_s, 0.5},
            {u"project_bulk_reserve"_s, 0.2},
            {u"key_ttl_ms"_s, 3'600'000},
            {u"send_slack_ms"_s, 2'000},
            {u"largest_single_cost"_s, 100},
            {u"fail_open"_s, true},
            {u"enforce"_s, true},
        };
    }
};

void TestPolicy::refusesBadFields_data()
{
    QTest::addColumn<QString>("field");
    QTest::addColumn<QJsonValue>("value");
    for (const QString &field : {u"account_capacity"_s, u"account_refill_per_minute"_s, u"project_capacity"_s,
                                 u"project_refill_per_minute"_s}) {
        for (const QJsonValue &value : {QJsonValue(0), QJsonValue(-1), QJsonValue(1.5), QJsonValue(2e9),
                                        QJsonValue(u"10"_s), QJsonValue()})
            QTest::addRow("%s %s", qPrintable(field), qPrintable(value.toVariant().toString()))
                << field << value;
        QTest::addRow("%s missing", qPrintable(field)) << field << QJsonValue(QJsonValue::Undefined);
    }
    for (const QString &field : {u"bulk_reserve"_s, u"project_bulk_reserve"_s}) {
        for (const QJsonValue &value : {QJsonValue(1), QJsonValue(-0.1), QJsonValue(u"half"_s)})
            QTest::addRow("%s %s", qPrintable(field), qPrintable(value.toVariant().toString()))
                << field << value;
    }
    QTest::newRow("send_slack") << u"send_slack_ms"_s << QJsonValue(60'001);
    QTest::newRow("fail_open") << u"fail_open"_s << QJsonValue(1);
    QTest::newRow("enforce") << u"enforce"_s << QJsonValue(QJsonValue::Undefined);
    QTest::newRow("local_fallback") << u"local_fallback"_s << QJsonValue(u"yes"_s);
    QTest::newRow("no slots") << u"slots"_s << QJsonValue(0);
    QTest::newRow("slots") << u"slots"_s << QJsonValue(1'001);
    QTest::newRow("day_budget") << u"day_budget"_s << QJsonValue(-1);
    QTest::newRow("day_action") << u"day_action"_s << QJsonValue(u"refuse_bulk"_s);
    QTest::newRow("day_action as number") << u"day_action"_s << QJsonValue(1);
    QTest::newRow("day_zone") << u"day_zone"_s << QJsonValue(u"America/Los_Angele"_s);
    QTest::newRow("no day_zone") << u"day_zone"_s << QJsonValue(QString());
    QTest::newRow("families") << u"method_families"_s << QJsonValue(QJsonArray());
    QTest::newRow("family") << u"method_families"_s << QJsonValue(QJsonObject{{u"m"_s, u"Mail sending"_s}});
    QTest::newRow("family as number") << u"method_families"_s << QJsonValue(QJsonObject{{u"m"_s, 1}});
}

void TestPolicy::refusesBadFields()
{
    QFETCH(QString, field);
    QFETCH(QJsonValue, value);

    QJsonObject json = sound();
    QVERIFY(Policy::from(json));
    json[field] = value;
    const Result<Policy> policy = Policy::from(json);
    QVERIFY(!policy);
    QCOMPARE(policy.error().code, u"invalid_policy"_s);
    QCOMPARE(policy.error().details["field"_L1].toString(), field);
}

void TestPolicy::keyTtlMustOutlastASlowBucket_data()
{
    QTest::addColumn<int>("capacity");
    QTest::addColumn<int>("refill");
    QTest::addColumn<qint64>("shortest"); // the longest that is refused, ms
    QTest::newRow("default") << 360 << 5'450 << qint64(360) * 4 * 60'000 / 5'450;
    QTest::newRow("slow") << 600 << 10 << qint64(4) * 3'600'000;
    QTest::newRow("one a minute") << 1 << 1 << qint64(240'000);
}

void TestPolicy::keyTtlMustOutlastASlowBucket()
{
    QFETCH(int, capacity);
    QFETCH(int, refill);
    QFETCH(qint64, shortest);

    QJsonObject json = sound();
    json[u"account_capacity"_s] = capacity;
    json[u"account_refill_per_minute"_s] = refill;
    json[u"key_ttl_ms"_s] = std::max(shortest, qint64(15'853)); // the project's own
    QVERIFY(!Policy::from(json));
    json[u"key_ttl_ms"_s] = std::max(shortest, qint64(15'853)) + 1;
    QVERIFY(Policy::from(json));
}

void TestPolicy::worstMinuteIsCounted_data()
{
    QTest::addColumn<int>("capacity");
    QTest::addColumn<int>("refill");
    QTest::addColumn<int>("published");
    QTest::addColumn<QString>("worst"); // in the warning; empty: none

    QTest::newRow("gmail-2026") << 360 << 5'450 << 6'000 << QString();
    QTest::newRow("gmail-legacy") << 900 << 13'625 << 15'000 << QString();
    QTest::newRow("just too much") << 369 << 5'450 << 6'000 << u"6,001"_s;
    // A full bucket and a minute of refill: the trap of capacity = refill = limit.
    QTest::newRow("twice") << 12'000 << 12'000 << 12'000 << u"24,400"_s;
    QTest::newRow("unknown") << 12'000 << 12'000 << 0 << QString();
}

void TestPolicy::worstMinuteIsCounted()
{
    QFETCH(int, capacity);
    QFETCH(int, refill);
    QFETCH(int, published);
    QFETCH(QString, worst);

    QJsonObject json = sound();
    json[u"account_capacity"_s] = capacity;
    json[u"account_refill_per_minute"_s] = refill;
    json[u"published_account"_s] = published;
    const Result<Policy> policy = Policy::from(json);
    QVERIFY(policy);
    const QStringList warnings = policy->warnings(u"default"_s);
    QCOMPARE(warnings.isEmpty(), worst.isEmpty());
    if (!worst.isEmpty())
        QVERIFY2(warnings.first().contains(worst), qPrintable(warnings.first()));
}

void TestPolicy::warnsOfCallsThatCanNeverBeGranted()
{
    QJsonObject json = sound();
    json[u"account_capacity"_s] = 150; // bulk may use 75
    QStringList warnings = Policy::from(json)->warnings(u"default"_s);
    QCOMPARE(warnings.size(), 1);
    QVERIFY(warnings.first().contains(u"bulk"_s));
    QVERIFY(warnings.first().contains(u"one call may cost 100"_s));
    json[u"dearest_method"_s] = u"mail.send"_s;
    QVERIFY(Policy::from(json)->warnings(u"default"_s).first().contains(u"one call of mail.send"_s));
    json[u"account_capacity"_s] = 99;
    warnings = Policy::from(json)->warnings(u"default"_s);
    QCOMPARE(warnings.size(), 2);
}

void TestPolicy::largestCostByLane()
{
    Policy policy = *Policy::from(sound());
    QCOMPARE(policy.largestCost(u"realtime"_s), 360);
    QCOMPARE(policy.largestCost(u"renewal"_s), 360);
    QCOMPARE(policy.largestCost(u"bulk"_s), 180);
    policy.project.capacity = 100;
    policy.project.reserveMilli = 33'300;
    QCOMPARE(policy.largestCost(u"realtime"_s), 100);
    QCOMPARE(policy.largestCost(u"bulk"_s), 66);
}

void TestPolicy::publishesEveryField()
{
    const qint64 noonUtc = 1'768'478'400'000; // 2026-01-15T12:00:00Z, 04:00 in Los Angeles
    const auto published = [noonUtc](const QJsonObject &json) {
        QMap<QByteArray, qint64> fields;
        const QByteArrayList arguments = Policy::from(json)->arguments(noonUtc);
        for (qsizetype i = 0; i + 1 < arguments.size(); i += 2)
            fields.insert(arguments[i], arguments[i + 1].toLongLong());
        return fields;
    };
    QMap<QByteArray, qint64> expected{
        {"account_capacity_milli", 360'000},
        {"account_refill_per_minute", 5'450},
        {"account_reserve_milli", 180'000},
        {"account_published", 6'000},
        {"project_capacity_milli", 72'000'000},
        {"project_refill_per_minute", 1'090'000},
        {"project_reserve_milli", 14'400'000},
        {"project_published", 1'200'000},
        {"key_ttl_ms", 3'600'000},
        {"enforce", 1},
        {"slots", 10},
        {"day_budget", 0},
        {"day_action", 0},
        {"day_start_us", 1'768'435'200'000'000},
        {"day_end_us", 1'768'521'600'000'000},
        {"day_after_us", 1'768'608'000'000'000},
    };
    QCOMPARE(published(sound()), expected);

    QJsonObject json = sound();
    json[u"enforce"_s] = false;
    json[u"slots"_s] = 3;
    json[u"day_budget"_s] = 80'000'000;
    json[u"day_action"_s] = u"refuse"_s;
    json[u"day_zone"_s] = u"America/Los_Angeles"_s;
    constexpr qint64 eightHoursUs = 28'800'000'000;
    for (const char *bound : {"day_start_us", "day_end_us", "day_after_us"})
        expected[bound] += eightHoursUs;
    expected["enforce"] = 0;
    expected["slots"] = 3;
    expected["day_budget"] = 80'000'000;
    expected["day_action"] = 2;
    QCOMPARE(published(json), expected);
    json[u"day_action"_s] = u"refuse-bulk"_s;
    QCOMPARE(published(json)["day_action"], 1);
}

void TestPolicy::knowsTheFamilyOfAMethod()
{
    QJsonObject json = sound();
    json[u"method_families"_s] = QJsonObject{{u"mail.send"_s, u"mail_sending"_s}};
    json[u"local_fallback"_s] = false;
    const Result<Policy> policy = Policy::from(json);
    QVERIFY(policy);
    QCOMPARE(policy->familyOf(u"mail.send"_s), QByteArray("mail_sending"));
    QCOMPARE(policy->familyOf(u"mail.read"_s), QByteArray());
    QCOMPARE(policy->familyOf({}), QByteArray());
    QVERIFY(!policy->localFallback);
    QVERIFY(Policy::from(sound())->localFallback);
}

void TestPolicy::keysHideAccounts_data()
{
    QTest::addColumn<QString>("account");
    QTest::addColumn<QByteArray>("key");
    QTest::newRow("plain") << u"a@example.com"_s
                           << QByteArray("tk:{gmail:default}:account:YUBleGFtcGxlLmNvbQ");
    QTest::newRow("url alphabet") << u"~~~???"_s << QByteArray("tk:{gmail:default}:account:fn5-Pz8_");
    QTest::newRow("colon and braces") << u":{}"_s << QByteArray("tk:{gmail:default}:account:Ont9");
    QTest::newRow("not ASCII") << u"é"_s << QByteArray("tk:{gmail:default}:account:w6k");
}

void TestPolicy::keysHideAccounts()
{
    QFETCH(QString, account);
    QFETCH(QByteArray, key);

    const Keys keys(u"gmail"_s, u"default"_s);
    QCOMPARE(keys.account(account), key);
    QCOMPARE(keys.policy(), QByteArray("tk:{gmail:default}:policy"));
    QCOMPARE(keys.project(), QByteArray("tk:{gmail:default}:project"));
    QCOMPARE(keys.id(u"é"_s, u"x"_s), QByteArray("tk:{gmail:default}:id:w6k:eA"));
    QCOMPARE(keys.refund(u"é"_s, 1'800'000'000'000'000),
             QByteArray("tk:{gmail:default}:id:w6k:.1800000000000000"));
    QCOMPARE(keys.places(keys.accountName(u"é"_s)), QByteArray("tk:{gmail:default}:slots:w6k"));
}

void TestPolicy::answersOfRedis_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<AnswerKind>("kind");
    QTest::newRow("argument") << QByteArray("TKARG cost must be a whole number") << AnswerKind::Argument;
    QTest::newRow("policy") << QByteArray("TKPOLICY no policy here") << AnswerKind::NoPolicy;
    QTest::newRow("wrong type") << QByteArray("WRONGTYPE Operation") << AnswerKind::NoPolicy;
    for (const char *text :
         {"LOADING Redis is loading", "MOVED 1 h:1", "ASK 1 h:1", "TRYAGAIN x", "CLUSTERDOWN x"})
        QTest::newRow(text) << QByteArray(text) << AnswerKind::NotExecuted;
    for (const char *text :
         {"OOM command not allowed", "READONLY You can't write", "MISCONF Errors", "BUSY Redis"})
        QTest::newRow(text) << QByteArray(text) << AnswerKind::Away;
    for (const char *text : {"ERR Function not found", "NOPERM this user", "NOAUTH x"})
        QTest::newRow(text) << QByteArray(text) << AnswerKind::Broken;
}

void TestPolicy::answersOfRedis()
{
    QFETCH(QByteArray, text);
    QFETCH(AnswerKind, kind);

    redis::Value value;
    value.type = redis::Value::Type::Error;
    value.text = text;
    QCOMPARE(kindOf(value, 9), kind);
    if (kind == AnswerKind::Argument) {
        QCOMPARE(argumentError(text).details["field"_L1].toString(), u"cost"_s);
        QCOMPARE(argumentError(text).text, u"\"cost\" must be a whole number."_s);
    }
}

QTEST_APPLESS_MAIN(TestPolicy)
#include "tst_policy.moc"
