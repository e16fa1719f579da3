// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include "limits/keys.h"
#include "redis/redisconnection.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QThread>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

const limits::Keys keys(u"gmail"_s, u"load"_s);

const QByteArray project = R"(
[google.projects.load]
project_id = "load-project"
topic = "projects/load-project/topics/gmail"
preset = "custom"
account_capacity = 360
account_refill_per_minute = 1
project_capacity = 10000000
project_refill_per_minute = 10000000
)";

QStringList redisArguments(const QString &address)
{
    QStringList arguments{u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"everysec"_s};
    if (!address.isEmpty() && address != "127.0.0.1"_L1)
        arguments += {u"--bind"_s, u"127.0.0.1 "_s + address, u"--protected-mode"_s, u"no"_s};
    return arguments;
}

QByteArray word(bool value)
{
    return value ? "true" : "false";
}

} // namespace

QString Switches::name() const
{
    return !failOpen ? u"closed"_s : localFallback ? u"local"_s : u"open"_s;
}

Rig::Rig(Switches how, QString address, unsigned seed)
    : m_switches(how), m_address(std::move(address)), m_random(seed), m_redis(redisArguments(m_address), true)
{ }

bool Rig::start()
{
    if (!m_redis.start())
        return false;
    m_proxy = std::make_unique<RedisProxy>(m_redis.port());
    const QByteArray place = m_address.isEmpty()
        ? "127.0.0.1:" + QByteArray::number(m_proxy->port())
        : m_address.toLatin1() + ':' + QByteArray::number(m_redis.port());
    m_product.googleUrl = u"http://127.0.0.1:1"_s; // nothing is renewed here
    const QByteArray toml = project + "[redis]\nurl = \"redis://" + place
        + "\"\n[plugins.gmail-quota]\nkey_ttl = \"72h\"\nfail_open = " + word(m_switches.failOpen)
        + "\nlocal_fallback = " + word(m_switches.localFallback) + "\n";
    if (!m_product.startEngine(toml))
        return false;
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < 15'000) {
        const Shot shot = ask();
        if (shot.granted && !shot.degraded)
            return true;
        QThread::msleep(20);
    }
    return false;
}

QList<Shot> Rig::newShots(int count)
{
    QList<Shot> shots;
    for (int i = 0; i < count; ++i) {
        const int cost = std::uniform_int_distribution(1, 100)(m_random);
        shots.append({.account = "a" + QByteArray::number(++m_accounts) + "@example.com", .cost = cost});
    }
    return shots;
}

QList<Shot> Rig::shotsAtOneAccount(int count, int cost)
{
    const QByteArray account = "a" + QByteArray::number(++m_accounts) + "@example.com";
    return QList<Shot>(count, {.account = account, .cost = cost});
}

void Rig::shoot(QList<Shot> &shots, int inFlight, const std::function<void(int)> &meanwhile)
{
    std::atomic<int> answered = 0;
    if (!meanwhile) {
        faults::shoot(m_product.engineUrl, m_product.adminToken, shots, inFlight, answered);
        return;
    }
    const std::unique_ptr<QThread> load(QThread::create(
        [&] { faults::shoot(m_product.engineUrl, m_product.adminToken, shots, inFlight, answered); }));
    load->start();
    int told = 0;
    while (!load->wait(1)) {
        while (told < answered)
            meanwhile(++told);
    }
}

Shot Rig::ask()
{
    QList<Shot> one = newShots(1);
    shoot(one, 1);
    return one.first();
}

QList<int> Rig::chargedUnits(const QList<Shot> &shots) const
{
    redis::RedisConnection connection(*redis::Endpoint::fromUrl(m_redis.url()), {.commandTimeoutMs = 10'000});
    connection.open();
    QCoro::waitFor(connection.waitReady(10'000));
    QList<int> charged(shots.size(), -1);
    int answered = 0;
    QEventLoop loop;
    for (qsizetype i = 0; i < shots.size(); ++i) {
        connection.send({"HGET", keys.account(QString::fromLatin1(shots[i].account)), "level_milli"},
                        [&, i](const Result<redis::Value> &level) {
                            if (level)
                                charged[i] = capacity - int((level->toInteger(capacity * 1000) + 500) / 1000);
                            if (++answered == shots.size())
                                loop.quit();
                        });
    }
    if (!shots.isEmpty())
        loop.exec();
    return charged;
}

QString Rig::policyKey() const
{
    return QString::fromLatin1(keys.policy());
}

} // namespace tidekeeper::faults
