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
    qint64 accountPublished = 6'000; ///< units per minute that the API's owner states; 0: unknown
    qint64 projectPublished = 1'200'000;
    qint64 slots = 10; ///< places of one account
    qint64 dayBudget = 0; ///< units; 0: none
    int dayAction = 0; ///< 0 warn, 1 refuse bulk, 2 refuse
    qint64 dayStartUs = 0;
    qint64 dayEndUs = 0;
    qint64 dayAfterUs = 0;
};

struct QuotaAsk {
    QByteArray cost; ///< as sent, so that a test can send nonsense
    QByteArray lane = "realtime";
    QByteArray maxWaitMs = "0";
    QByteArray deadlineUs = {}; ///< empty: not sent
    QByteArray account = "alice";
    QByteArray id = {};
    QByteArray family = {}; ///< empty: not sent
    bool hold = false; ///< also a place

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
    QuotaAsk &ofFamily(QByteArray name)
    {
        family = std::move(name);
        return *this;
    }
    QuotaAsk &withPlace()
    {
        hold = true;
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
    QByteArray slot; ///< the place; empty: none
    qint64 slotExpiresUs = 0;
};

/// What an API answered, for tidekeeper_report_v1.
struct QuotaReport {
    QByteArray verdict = "rate";
    QByteArray scope = "account";
    QByteArray family = {};
    qint64 retryAfterMs = 0;
    qint64 grantUs = 0;
    qint64 cost = 0;
    qint64 toldLimit = 0;
    QByteArray account = "alice";
};

struct QuotaFreeze {
    bool changed = false;
    qint64 untilUs = 0;
    qint64 retryAfterMs = 0;
    qint64 pace = 0; ///< 1 … 1000
};

/// The answer of tidekeeper_refund_v1; milli-units.
struct QuotaRefund {
    bool done = false;
    qint64 accountBack = 0;
    qint64 projectBack = 0;
    QByteArray reason;
};

/// The library lua/quota*.lua in a real Redis of the test's own, asked at times that the test chooses.
class QuotaRedis {
public:
    static constexpr qint64 startUs = 1'800'000'000'000'000;
    static constexpr qint64 secondUs = 1'000'000;

    explicit QuotaRedis(QStringList serverArguments = {});

    bool start(); ///< with the library loaded and the default limits published
    void restart(); ///< forgets every key, keeps the library
    void setLimits(const QuotaLimits &limits,
                   const QByteArray &project = "default"); ///< as if there were none before
    /// As an engine does; nowUs < 0: by the server's clock.
    void publish(const QuotaLimits &limits, const QByteArray &project = "default", qint64 nowUs = -1);
    qint64 changeLimits(const QuotaLimits &limits); ///< publish; when the limits changed, in µs

    QuotaDecision at(qint64 nowUs, const QuotaAsk &ask, const QByteArray &project = "default");
    QuotaFreeze report(qint64 nowUs, const QuotaReport &report, const QByteArray &project = "default");
    QuotaRefund refund(qint64 nowUs, qint64 cost, qint64 grantUs, const QByteArray &account = "alice");
    /// Any other function of the library that knows the time, asked at a time; < 0: by the server's clock.
    redis::Value callAt(qint64 nowUs, const QByteArray &function, const QByteArrayList &keys,
                        const QByteArrayList &arguments);
    /// By the server's own clock.
    QuotaDecision now(const QuotaAsk &ask, const QByteArray &project = "default");

    redis::Value command(const QList<QByteArray> &arguments);
    /// All at once, as many callers would.
    QList<redis::Value> commands(const QList<QList<QByteArray>> &several);
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
    static QByteArray slotsKey(const QByteArray &account = "alice", const QByteArray &project = "default")
    {
        return "tk:{t:" + project + "}:slots:" + account;
    }
    static QByteArray activeKey() { return "tk:{t:default}:active"; }
    static QByteArray refundKey(const QByteArray &account, qint64 grantUs)
    {
        return idKey(account, '.' + QByteArray::number(grantUs));
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
