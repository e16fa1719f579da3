// SPDX-License-Identifier: Apache-2.0
#include "app/lookout.h"

#include "store/servertime.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

Lookout::Lookout(StoreParts &store, redis::RedisConnection &redis, const scheduler::RedisClock &clock,
                 EventBus &events, MetricsRegistry &metrics, const net::HttpClient &http,
                 QStringList googleHosts)
    : m_store(store), m_clock(clock), m_googleHosts(std::move(googleHosts)), m_counts(store.accounts),
      m_scanMark(redis), m_metrics(metrics),
      m_vigil(store.coverage, store.lapses, clock,
              [&events](const QString &type, const QJsonObject &event) { events.publish(type, event); }),
      m_grantHints(store.grantDeaths, clock,
                   [&events](const QString &type, const QJsonObject &event) { events.publish(type, event); })
{
    connect(&events, &EventBus::published, this, &Lookout::onEvent);
    connect(&http, &net::HttpClient::dated, this,
            [this](const QString &host, const QByteArray &date, qint64 tookMs) {
                const qint64 nowMs = m_clock.nowMs();
                if (m_googleHosts.contains(host))
                    m_skew.learnHttpDate(u"google"_s, date, nowMs - tookMs, nowMs);
            });
}

void Lookout::start()
{
    m_startedAt = m_clock.nowMs();
    m_vigil.start();
    m_grantHints.start();
}

void Lookout::stop()
{
    m_vigil.stop();
    m_grantHints.stop();
}

QCoro::Task<Result<QJsonObject>> Lookout::accounts(qint64 windowMs)
{
    const qint64 askedMs = m_clock.nowMs();
    const Result<qint64> theirMs = co_await store::serverTimeMs(m_store.database);
    if (!theirMs)
        co_return fail(theirMs.error());
    if (*theirMs > 0)
        m_skew.learn(u"database"_s, *theirMs, 1, askedMs, m_clock.nowMs());
    Result<QJsonObject> counts = co_await m_counts.read(m_clock.nowMs(), windowMs);
    co_return counts;
}

QJsonObject Lookout::facts() const
{
    if (m_clock.isSynchronised())
        m_skew.set(u"redis"_s, m_clock.skewMs());
    QJsonObject skews;
    for (auto it = m_skew.all().begin(); it != m_skew.all().end(); ++it)
        skews.insert(it.key(), *it);
    return {{u"started_at"_s, m_startedAt},
            {u"coverage"_s, m_vigil.coverage()},
            {u"clock_skew_ms"_s, skews},
            {u"hints"_s, m_grantHints.status()}};
}

void Lookout::onEvent(const QJsonObject &event)
{
    m_metrics.noteEvent(event);
    const QString type = event["type"_L1].toString();
    if (type == "watch.gap"_L1)
        m_vigil.noteGap(event["from"_L1].toInteger(), event["to"_L1].toInteger());
}

} // namespace tidekeeper::app
