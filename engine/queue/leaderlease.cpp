// SPDX-License-Identifier: Apache-2.0
#include "queue/leaderlease.h"

#include "queue/queuecall.h"

#include <QtCore/QPointer>

namespace tidekeeper::queue {

LeaderLease::LeaderLease(Leases &leases, Options options, QObject *parent)
    : QObject(parent), m_leases(leases), m_options(std::move(options)), m_owner(randomToken())
{
    m_timer.setInterval(m_options.everyMs);
    connect(&m_timer, &QTimer::timeout, this, [this] { attempt(); });
}

void LeaderLease::start()
{
    m_timer.start();
    attempt();
}

QCoro::Task<> LeaderLease::stop()
{
    m_timer.stop();
    const QByteArray owner =
        std::exchange(m_owner, randomToken()); // an answer under way is not for us any more
    setTerm(0);
    co_await m_leases.release(m_options.name, owner);
}

void LeaderLease::outbid(qint64 seenTerm)
{
    m_seenTerm = std::max(m_seenTerm, seenTerm);
    setTerm(0);
    attempt();
}

QCoro::Task<> LeaderLease::attempt()
{
    if (m_term != 0 && m_validUntil.hasExpired())
        setTerm(0);
    if (m_asking)
        co_return;
    m_asking = true;
    const QPointer<LeaderLease> alive(this);
    const QDeadlineTimer validUntil(m_options.ttlMs, Qt::PreciseTimer);
    const QByteArray owner = m_owner;
    const Result<LeaseState> state =
        co_await m_leases.acquire(m_options.name, owner, m_options.ttlMs, m_seenTerm);
    if (!alive)
        co_return;
    m_asking = false;
    if (!state || owner != m_owner || validUntil.hasExpired())
        co_return;
    m_validUntil = validUntil;
    m_otherUntil.setRemainingTime(state->held ? 0 : state->remainingMs + 2 * m_options.everyMs);
    setTerm(state->held ? state->term : 0);
}

void LeaderLease::setTerm(qint64 term)
{
    if (term == m_term)
        return;
    const bool wasHeld = m_term != 0;
    m_term = term;
    if (wasHeld)
        Q_EMIT lost();
    if (term != 0)
        Q_EMIT acquired(term);
}

} // namespace tidekeeper::queue
