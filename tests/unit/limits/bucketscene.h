// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/bucketservice.h"
#include "support/testredis.h"

#include <QtCore/QElapsedTimer>

namespace tidekeeper::limits::test {

class RealClock final : public Clock {
public:
    RealClock() { m_timer.start(); }
    qint64 nowMs() const override { return QDateTime::currentMSecsSinceEpoch(); }
    qint64 monotonicMs() const override { return m_timer.elapsed(); }

private:
    QElapsedTimer m_timer;
};

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

    RealClock clock;
    redis::RedisConnection connection;
    redis::FunctionLibrary library;
    BucketService buckets;
};

} // namespace tidekeeper::limits::test
