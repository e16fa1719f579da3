// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisconnection.h"
#include "support/testredis.h"

#include <memory>

namespace tidekeeper::test {

/// The limits of one project, in units and units per minute.
struct QuotaLimits {
    qint64 accountCapacity = 360;
    qint64 accountRefill = 5450;
    qint64 projectCapacity = 72'000;
    qint64 projectRefill = 1'090'000;
    double accountReserve = 0.5;
    double projectReserve = 0.2;
    qint64 keyTtlMs = 3'600'000;
    bool enforce = true;
};

struct QuotaAsk {
    QByteArray cost; ///< as sent, so that a test can send nonsense
    QByteArray lane = "realtime";
    QByteArray maxWaitMs = "0";
    QByteArray deadlineUs = {}; ///< empty: not sent
    QByteArray account = "alice";
    QByteArray id = {};

    QuotaAsk(QByteArray units) : cost(std::move(units)) { }
    QuotaAsk(qint64 units) : cost(QByteArray::number(units)) { }
    QuotaAsk &bulk()
    {
        lane = "bulk";
        return *this;
    }
    QuotaAsk &waiting(qint64 ms)
    {
        maxWaitMs = QByteArray::number(ms);
        return *this;
    }
    QuotaAsk &of(QByteArray who)
    {
        account = std::move(who);
        return *this;
    }
    QuotaAsk &withId(QByteArray name)
    {
        id = std::move(name);
        return *this;
    }
    QuotaAsk &before(qint64 us)
    {
        deadlineUs = QByteArray::number(us);
        return *this;
    }
};

/// The answer of tidekeeper_acquire_v1; amounts in milli-units.
struct QuotaDecision {
    bool granted = false;
    qint64 waitMs = 0;
    qint64 retryAfterMs = 0;
    QByteArray refusedBy;
    qint64 accountLevel = 0;
    qint64 accountCapacity = 0;
    qint64 projectLevel = 0;
    qint64 projectCapacity = 0;
    qint64 nowUs = 0;
    QByteArray error; ///< of the server; empty when it decided
};

/// lua/quota.lua in a real Redis of the test's own, asked at times that the test chooses.
class QuotaRedis {
public:
    static constexpr qint64 startUs = 1'800'000'000'000'000;
    static constexpr qint64 secondUs = 1'000'000;

    explicit QuotaRedis(QStringList serverArguments = {});

    bool start(); ///< with the library loaded and the default limits published
    void restart(); ///< forgets every key, keeps the library
    void setLimits(const QuotaLimits &limits,
                   const QByteArray &project = "default"); ///< as if there were none before
    void publish(const QuotaLimits &limits, const QByteArray &project = "default"); ///< as an engine does
    qint64 changeLimits(const QuotaLimits &limits); ///< publish; when the limits changed, in µs

    QuotaDecision at(qint64 nowUs, const QuotaAsk &ask, const QByteArray &project = "default");
    /// By the server's own clock.
    QuotaDecision now(const QuotaAsk &ask, const QByteArray &project = "default");

    redis::Value command(const QList<QByteArray> &arguments);
    qint64 integer(const QList<QByteArray> &arguments) { return command(arguments).toInteger(); }
    QMap<QByteArray, QByteArray> hash(const QByteArray &key);
    qint64 appendedBytes(); ///< size of the append-only file so far

    static QByteArray policyKey(const QByteArray &project = "default")
    {
        return "tk:{t:" + project + "}:policy";
    }
    static QByteArray projectKey(const QByteArray &project = "default")
    {
        return "tk:{t:" + project + "}:project";
    }
    static QByteArray accountKey(const QByteArray &account = "alice", const QByteArray &project = "default")
    {
        return "tk:{t:" + project + "}:account:" + account;
    }
    static QByteArray idKey(const QByteArray &account, const QByteArray &id)
    {
        return "tk:{t:default}:id:" + account + ':' + id;
    }
    /// The words of FCALL for a request; nowUs < 0: by the server's clock.
    static QList<QByteArray> words(qint64 nowUs, const QuotaAsk &ask, const QByteArray &project = "default");
    static QuotaDecision decision(const redis::Value &answer);

    TestRedis &server() { return m_server; }

private:
    TestRedis m_server;
    std::unique_ptr<redis::RedisConnection> m_connection;
};

} // namespace tidekeeper::test
