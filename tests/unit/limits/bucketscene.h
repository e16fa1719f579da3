// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/bucketservice.h"
#include "support/realclock.h"
#include "support/testredis.h"

namespace tidekeeper::limits::test {

struct Answered {
    Status status;
    QuotaAnswer answer;
};

/// One engine's buckets on a Redis, asked and waited for.
class BucketScene {
public:
    /// Connects and publishes policy() for the limiter "gmail".
    explicit BucketScene(const QString &url);

    /// 360 units, one a second; the project 72,000 and a million a minute.
    static QJsonObject policy(bool failOpen = true);
    static QuotaRequest request(qint64 cost, const QString &account = QStringLiteral("alice@example.com"));

    Status publish(const QJsonObject &policy, QJsonObject *result = nullptr);
    Answered acquire(const QuotaRequest &request);
    /// An answer that is not ok has "code" and "field".
    QJsonObject report(const QJsonObject &verdict);
    QJsonObject refund(const QString &grantId);
    QJsonObject release(const QString &holdId);

    tidekeeper::test::RealClock clock;
    redis::RedisConnection connection;
    redis::FunctionLibrary library;
    BucketService buckets;
};

} // namespace tidekeeper::limits::test
