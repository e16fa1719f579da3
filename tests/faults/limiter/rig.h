// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load.h"
#include "product.h"
#include "redisproxy.h"
#include "support/testredis.h"

#include <random>

namespace tidekeeper::faults {

/// The switches that an operator has for the time without Redis.
struct Switches {
    bool failOpen = true;
    bool localFallback = true;

    QString name() const;
};

/// One engine as a real process, its Redis, and a way to break what lies between them. Accounts of project "load" have
/// 360 units that refill by one a minute: what Redis charged can be read from a level to the unit.
class Rig {
public:
    static constexpr int capacity = 360;

    /// address: of this machine, where the engine finds Redis; empty: behind the proxy.
    Rig(Switches how, QString address, unsigned seed);
    /// Redis, engine, and a grant that shows that they know each other.
    bool start();

    test::TestRedis &redis() { return m_redis; }
    RedisProxy &proxy() { return *m_proxy; }
    const Switches &switches() const { return m_switches; }
    QByteArray engineLog() const { return m_product.engine ? m_product.engine->log() : QByteArray(); }

    /// Shots at accounts that nobody used before.
    QList<Shot> newShots(int count);
    /// As many at one account.
    QList<Shot> shotsAtOneAccount(int count, int cost);
    /// meanwhile: called with 1, 2, 3 … answers, beside the load, which it does not hold up.
    void shoot(QList<Shot> &shots, int inFlight, const std::function<void(int answered)> &meanwhile = {});
    /// One request; as shoot().
    Shot ask();

    /// Units that Redis has charged to each account, in the order of the shots.
    QList<int> chargedUnits(const QList<Shot> &shots) const;
    QString policyKey() const;

private:
    Switches m_switches;
    QString m_address;
    std::mt19937 m_random;
    int m_accounts = 0;
    test::TestRedis m_redis;
    std::unique_ptr<RedisProxy> m_proxy;
    test::Product m_product;
};

} // namespace tidekeeper::faults
