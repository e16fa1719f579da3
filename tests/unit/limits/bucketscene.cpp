// SPDX-License-Identifier: Apache-2.0
#include "bucketscene.h"

#include "limits/quotalibrary.h"

#include <tidekeeper/callback.h>

#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits::test {

namespace {

constexpr int patienceMs = 10'000;

QJsonObject failure(const Status &status)
{
    return {{u"code"_s, status.code}, {u"field"_s, status.details["field"_L1]}};
}

QJsonObject outcomeOf(const Result<QJsonObject> &result)
{
    return result ? *result : failure(result.error());
}

} // namespace

BucketScene::BucketScene(const QString &url)
    : connection(*redis::Endpoint::fromUrl(url)), library(connection, "tidekeeper_quota", libraryCode()),
      buckets(connection, library, clock)
{
    connection.open();
    if (!QCoro::waitFor(connection.waitReady(patienceMs)))
        qFatal("Redis is not there");
    if (const Status status = publish(policy()); !status.ok())
        qFatal("%s", qPrintable(status.text));
}

QJsonObject BucketScene::policy(bool failOpen)
{
    return {
        {u"account_capacity"_s, 360},    {u"account_refill_per_minute"_s, 60},
        {u"project_capacity"_s, 72'000}, {u"project_refill_per_minute"_s, 1'090'000},
        {u"published_account"_s, 6'000}, {u"published_project"_s, 1'200'000},
        {u"bulk_reserve"_s, 0.5},        {u"project_bulk_reserve"_s, 0.2},
        {u"key_ttl_ms"_s, 3'600'000},    {u"send_slack_ms"_s, 2'000},
        {u"fail_open"_s, failOpen},      {u"enforce"_s, true},
    };
}

QuotaRequest BucketScene::request(qint64 cost, const QString &account)
{
    QuotaRequest request;
    request.account = account;
    request.cost = cost;
    request.deadlineMs = 5'000; // the tests of deadlines say otherwise
    return request;
}

Status BucketScene::publish(const QJsonObject &policy, QJsonObject *result)
{
    std::optional<Status> ended;
    buckets.publish(u"gmail"_s, u"default"_s, policy,
                    whenDone(&buckets, [&](const Status &status, const QJsonObject &r) {
                        ended = status;
                        if (result)
                            *result = r;
                    }));
    if (!QTest::qWaitFor([&] { return ended.has_value(); }, patienceMs))
        qFatal("publish() was not answered");
    return *ended;
}

Answered BucketScene::acquire(const QuotaRequest &request)
{
    std::optional<Answered> ended;
    buckets.acquire(u"gmail"_s, request,
                    whenDecided(&buckets, [&](const Status &status, const QuotaAnswer &answer) {
                        ended = Answered{status, answer};
                    }));
    if (!QTest::qWaitFor([&] { return ended.has_value(); }, patienceMs))
        qFatal("acquire() was not answered");
    return *ended;
}

QJsonObject BucketScene::report(const QJsonObject &verdict)
{
    std::optional<QJsonObject> ended;
    buckets.report(u"gmail"_s, verdict,
                   whenDone(&buckets, [&](const Status &status, const QJsonObject &result) {
                       ended = status.ok() ? result : failure(status);
                   }));
    if (!QTest::qWaitFor([&] { return ended.has_value(); }, patienceMs))
        qFatal("report() was not answered");
    return *ended;
}

QJsonObject BucketScene::refund(const QString &grantId)
{
    return outcomeOf(QCoro::waitFor(buckets.refund(u"gmail"_s, grantId)));
}

QJsonObject BucketScene::release(const QString &holdId)
{
    return outcomeOf(QCoro::waitFor(buckets.release(u"gmail"_s, holdId)));
}

} // namespace tidekeeper::limits::test
