// SPDX-License-Identifier: Apache-2.0
#include "pluginscene.h"

using namespace pluginscene;

namespace {

const QString lockedOut =
    u"{\"error\":{\"code\":429,\"message\":\"User-rate limit exceeded.  Retry after "
    "2027-01-15T08:15:00Z (Mail sending)\",\"errors\":[{\"domain\":\"global\",\"reason\":"
    "\"rateLimitExceeded\"}],\"status\":\"RESOURCE_EXHAUSTED\"}}"_s;

QJsonObject answer(int status, const QJsonValue &body = QJsonValue::Undefined)
{
    QJsonObject json{{u"account"_s, u"a@example.com"_s}, {u"status"_s, status}};
    json[u"body"_s] = body;
    return json;
}

QJsonObject reason(const QString &word)
{
    const QJsonObject one{{u"domain"_s, u"usageLimits"_s}, {u"reason"_s, word}};
    return {{u"error"_s, QJsonObject{{u"code"_s, 403}, {u"errors"_s, QJsonArray{one}}}}};
}

} // namespace

/// What the plugin tells the buckets, and what it answers.
class TestFeedback : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aLockOutReachesTheBuckets();
    void aDayEndsWithTheClockOfTheEngine();
    void aGoodAnswerReachesTheBuckets_data();
    void aGoodAnswerReachesTheBuckets();
    void whatProvesNothingDoesNot_data();
    void whatProvesNothingDoesNot();
    void failuresOfTheBucketsAreSaid();
    void badReportsReachNobody_data();
    void badReportsReachNobody();
    void adjustPublishesWhatChanged();
    void adjustedBeforeTheStart();
    void aDryRunChangesNothing();
    void aRefusedChangeChangesNothing();
    void aRefusedPolicyTakesEverythingBack();

private:
    static Ended report(Scene &scene, const QJsonObject &json)
    {
        return scene.call([&](Reply *reply) { scene.feedback->report(json, reply); });
    }
    static Status adjust(Scene &scene, const QJsonObject &changes, bool dryRun = false)
    {
        return scene.call([&](Reply *reply) { scene.live->adjust(changes, dryRun, reply); }).status;
    }
};

/// The engine's clock says 2027-01-15T08:00:00Z, the answer's Date five minutes less.
void TestFeedback::aLockOutReachesTheBuckets()
{
    Scene scene;
    QVERIFY(scene.run().ok());
    QJsonObject json = answer(429, lockedOut);
    json[u"headers"_s] = QJsonObject{{u"DATE"_s, u"Fri, 15 Jan 2027 07:55:00 GMT"_s}};
    json[u"grant_id"_s] = u"g1"_s;
    json[u"project"_s] = u"old"_s;
    const Ended ended = report(scene, json);
    QVERIFY2(ended.status.ok(), qPrintable(ended.status.text));
    QCOMPARE(scene.host.buckets.reported.size(), 1);
    QCOMPARE(scene.host.buckets.reported[0].first, u"gmail"_s);
    const QJsonObject verdict{
        {u"account"_s, u"a@example.com"_s},
        {u"project"_s, u"old"_s},
        {u"rate"_s, true},
        {u"scope"_s, u"account"_s},
        {u"family"_s, u"mail_sending"_s},
        {u"retry_after_ms"_s, 1'200'000},
        {u"told_limit"_s, 0},
        {u"grant_id"_s, u"g1"_s},
    };
    QCOMPARE(scene.host.buckets.reported[0].second, verdict);
    QJsonObject result = ended.result;
    QVERIFY(!result.take("text"_L1).toString().isEmpty());
    const QJsonObject expected{
        {u"rate"_s, true},
        {u"scope"_s, u"account"_s},
        {u"family"_s, u"mail_sending"_s},
        {u"reason"_s, u"rateLimitExceeded"_s},
        {u"retryable"_s, true},
        {u"retry_after_ms"_s, 900'000}, // the buckets know of all reports
        {u"frozen_until"_s, 1'700'000'900'000.0},
        {u"pace"_s, 0.7},
    };
    QCOMPARE(result, expected);
}

/// Midnight in Los Angeles is at 08:00 UTC in winter.
void TestFeedback::aDayEndsWithTheClockOfTheEngine()
{
    Scene scene;
    QVERIFY(scene.run().ok());
    scene.host.clock.advance(3 * 3'600'000);
    QVERIFY(report(scene, answer(403, reason(u"dailyLimitExceeded"_s))).status.ok());
    const QJsonObject verdict = scene.host.buckets.reported.value(0).second;
    QCOMPARE(verdict["scope"_L1].toString(), u"project"_s);
    QCOMPARE(verdict["retry_after_ms"_L1].toInteger(), 21 * 3'600'000);
}

void TestFeedback::aGoodAnswerReachesTheBuckets_data()
{
    QTest::addColumn<QJsonObject>("json");
    QTest::newRow("200") << answer(200, QJsonObject{{u"id"_s, u"1"_s}});
    QTest::newRow("404") << answer(404, reason(u"notFound"_s));
    QTest::newRow("400") << answer(400, reason(u"badRequest"_s));
}

void TestFeedback::aGoodAnswerReachesTheBuckets()
{
    QFETCH(QJsonObject, json);
    Scene scene;
    QVERIFY(scene.run().ok());
    scene.host.buckets.state = {};
    const Ended ended = report(scene, json);
    QVERIFY(ended.status.ok());
    const QJsonObject verdict = scene.host.buckets.reported.value(0).second;
    QCOMPARE(verdict["rate"_L1], QJsonValue(false));
    QCOMPARE(verdict["scope"_L1].toString(), QString());
    QCOMPARE(verdict["retry_after_ms"_L1].toInt(-1), 0);
    QCOMPARE(ended.result["retryable"_L1], QJsonValue(false));
    QVERIFY(!ended.result.contains("pace"_L1)); // nobody looked how fast the scopes are
}

void TestFeedback::whatProvesNothingDoesNot_data()
{
    QTest::addColumn<QJsonObject>("json");
    QTest::addColumn<qint64>("retryAfterMs");
    QJsonObject told = answer(503);
    told[u"headers"_s] = QJsonObject{{u"Retry-After"_s, u"20"_s}};
    QTest::newRow("503") << answer(503) << qint64(1'000);
    QTest::newRow("503 with a time") << told << qint64(20'000);
    told[u"headers"_s] =
        QJsonObject{{u"set-cookie"_s, QJsonArray{}}, {u"Retry-After"_s, QJsonArray{u"30"_s, u"40"_s}}};
    QTest::newRow("503 with its headers as lists") << told << qint64(30'000);
    QTest::newRow("401") << answer(401, reason(u"authError"_s)) << qint64(0);
    QTest::newRow("domainPolicy") << answer(403, reason(u"domainPolicy"_s)) << qint64(0);
}

void TestFeedback::whatProvesNothingDoesNot()
{
    QFETCH(QJsonObject, json);
    QFETCH(qint64, retryAfterMs);
    Scene scene;
    QVERIFY(scene.run().ok());
    const Ended ended = report(scene, json);
    QVERIFY(ended.status.ok());
    QVERIFY(scene.host.buckets.reported.isEmpty());
    QCOMPARE(ended.result["rate"_L1], QJsonValue(false));
    QCOMPARE(ended.result["retryable"_L1], QJsonValue(bool(retryAfterMs > 0)));
    QCOMPARE(ended.result["retry_after_ms"_L1].toInteger(), retryAfterMs);
    QVERIFY(!ended.result.contains("frozen_until"_L1));
}

void TestFeedback::failuresOfTheBucketsAreSaid()
{
    Scene scene;
    QVERIFY(scene.run().ok());
    scene.host.buckets.feedback = Status::failure(u"limiter_unavailable"_s, u"Redis is away."_s);
    const Ended ended = report(scene, answer(429));
    QCOMPARE(ended.status.code, u"limiter_unavailable"_s);
    QVERIFY(ended.result.isEmpty());
}

void TestFeedback::badReportsReachNobody_data()
{
    QTest::addColumn<QString>("field");
    QTest::addColumn<QJsonValue>("value");
    QTest::addColumn<QString>("code");
    QTest::newRow("status") << u"status"_s << QJsonValue(42) << u"invalid_request"_s;
    QTest::newRow("account") << u"account"_s << QJsonValue(u""_s) << u"invalid_request"_s;
    QTest::newRow("project") << u"project"_s << QJsonValue(u"new"_s) << u"unknown_project"_s;
}

void TestFeedback::badReportsReachNobody()
{
    QFETCH(QString, field);
    QFETCH(QJsonValue, value);
    QFETCH(QString, code);
    Scene scene;
    QVERIFY(scene.run().ok());
    QJsonObject json = answer(429);
    json[field] = value;
    const Ended ended = report(scene, json);
    QCOMPARE(ended.status.code, code);
    QCOMPARE(ended.status.details["field"_L1].toString(), field);
    QVERIFY(scene.host.buckets.reported.isEmpty());
}

void TestFeedback::adjustPublishesWhatChanged()
{
    Scene scene;
    QVERIFY(scene.run().ok());
    scene.host.buckets.published.clear();
    scene.host.buckets.warnings = {u"Mind the other gap."_s};
    const QJsonObject old{{u"account_capacity"_s, 700}, {u"slots"_s, 4}};
    const QJsonObject changes{{u"projects"_s, QJsonObject{{u"old"_s, old}}}};
    QVERIFY(adjust(scene, changes).ok());
    const QList<std::pair<QString, QString>> one{{u"gmail"_s, u"old"_s}};
    QCOMPARE(scene.host.buckets.published, one);
    QCOMPARE(scene.host.buckets.policies[u"old"_s]["account_capacity"_L1].toInt(), 700);
    QCOMPARE(scene.host.buckets.policies[u"old"_s]["slots"_L1].toInt(), 4);
    QJsonObject described = scene.limiter->describe()["projects"_L1]["old"_L1].toObject();
    QCOMPARE(described["account_capacity"_L1].toInt(), 700);
    QCOMPARE(described["warnings"_L1].toArray(), QJsonArray{u"Mind the other gap."_s}); // not the one before
    QCOMPARE(scene.host.logged.last().second, u"Mind the other gap."_s);

    QVERIFY(adjust(scene, changes).ok()); // the same again
    QCOMPARE(scene.host.buckets.published, one);

    QVERIFY(adjust(scene, {{u"enforce"_s, false}}).ok()); // "old" returns to the file
    QCOMPARE(scene.host.buckets.published.size(), 3);
    for (const QString &project : {u"default"_s, u"old"_s})
        QCOMPARE(scene.host.buckets.policies[project]["enforce"_L1], QJsonValue(false));
    QCOMPARE(scene.host.buckets.policies[u"old"_s]["account_capacity"_L1].toInt(), 900);
    QCOMPARE(scene.limiter->describe()["sources"_L1]["enforce"_L1].toString(), u"operator"_s);
}

void TestFeedback::adjustedBeforeTheStart()
{
    Scene scene;
    QVERIFY(scene.plugin->initialize(&scene.host).ok());
    QVERIFY(adjust(scene, {{u"fail_open"_s, true}}).ok());
    QVERIFY(scene.call([&](Reply *reply) { scene.plugin->start(reply); }).status.ok());
    QCOMPARE(scene.host.buckets.policies[u"default"_s]["fail_open"_L1], QJsonValue(true));
}

void TestFeedback::aDryRunChangesNothing()
{
    Scene scene;
    QVERIFY(scene.run().ok());
    const QJsonObject before = scene.limiter->describe();
    QVERIFY(adjust(scene, {{u"enforce"_s, false}}, true).ok());
    QCOMPARE(adjust(scene, {{u"enforced"_s, false}}, true).code, u"invalid_settings"_s);
    QCOMPARE(scene.limiter->describe(), before);
    QCOMPARE(scene.host.buckets.published.size(), 2);
}

void TestFeedback::aRefusedChangeChangesNothing()
{
    Scene scene;
    QVERIFY(scene.run().ok());
    const QJsonObject before = scene.limiter->describe();
    const Status status = adjust(scene, {{u"enforce"_s, false}, {u"key_ttl"_s, 1}});
    QCOMPARE(status.code, u"invalid_settings"_s);
    QCOMPARE(status.details["field"_L1].toString(), u"key_ttl"_s);
    QCOMPARE(scene.limiter->describe(), before);
    QCOMPARE(scene.host.buckets.published.size(), 2);
}

void TestFeedback::aRefusedPolicyTakesEverythingBack()
{
    Scene scene;
    QVERIFY(scene.run().ok());
    const QJsonObject before = scene.limiter->describe();
    const QMap<QString, QJsonObject> policies = scene.host.buckets.policies;
    scene.host.buckets.refusals[u"old"_s] = Status::failure(u"invalid_policy"_s, u"Not so."_s);
    const Status status = adjust(scene, {{u"enforce"_s, false}});
    QCOMPARE(status.code, u"invalid_settings"_s);
    QCOMPARE(status.text, u"Not so."_s);
    QCOMPARE(scene.limiter->describe(), before);
    QCOMPARE(scene.host.buckets.policies, policies); // "default" was published, and published back
}

QTEST_APPLESS_MAIN(TestFeedback)
#include "tst_feedback.moc"
