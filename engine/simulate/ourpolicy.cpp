// SPDX-License-Identifier: Apache-2.0
#include "simulate/ourpolicy.h"

#include "core/applyoutcome.h"
#include "core/band.h"
#include "core/planner.h"
#include "simulate/judgement.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::simulate {

namespace {

constexpr qint64 scanEveryMs = core::minuteMs;
constexpr qint64 soonMs = 500;
constexpr qint64 afterProbeTimeMs = 100;
constexpr qint64 restoredWaitMs = core::minuteMs;
constexpr qint64 keptTokenMs =
    3'599'000 / 10 * 9; ///< the share of its life for which an access token is used

/// The failure for which a wave holds the row, if one does.
QString heldFor(const core::Subscription &row)
{
    return row.errorClass == toString(core::OutcomeKind::Configuration) ? row.errorCode : QString();
}

} // namespace

OurPolicy::OurPolicy(const Scenario &scenario)
    : m_scenario(scenario), m_random(jitterOf(scenario)), m_nextTickAt(scenario.startMs)
{
    const QList<qint64> expiries = firstExpiries(scenario);
    m_active = static_cast<int>(expiries.size());
    m_rows.resize(static_cast<size_t>(m_active));
    for (int account = 0; account < expiries.size(); ++account) {
        core::Subscription row;
        row.account = QString::number(account);
        row.id = row.account + u"/gmail"_s;
        row.expiresAt = expiries.at(account);
        row.nextTargetAt = core::firstTarget(row.account, row.expiresAt, scenario.startMs);
        row.dueAt = core::dueAt(row.expiresAt, row.nextTargetAt, 0);
        m_rows.at(static_cast<size_t>(account)).subscription = row;
        m_waiting.insert({row.dueAt, account});
    }
}

qint64 OurPolicy::nextScanAt(qint64 nowMs) const
{
    qint64 at = m_nextTickAt;
    for (const qint64 asked : {m_soonAt, m_wakeAt}) {
        if (asked > 0)
            at = std::min(at, asked);
    }
    return std::max(at, nowMs);
}

/// As RenewalEngine::scan: who is due, earliest expiry first, at most a batch; those that have a job keep it.
void OurPolicy::scan(qint64 nowMs)
{
    if (nowMs >= m_nextTickAt)
        m_nextTickAt = nowMs + scanEveryMs;
    if (nowMs >= m_soonAt)
        m_soonAt = 0;
    if (nowMs >= m_wakeAt)
        m_wakeAt = 0;
    wakeForProbe(nowMs);
    takeDue(nowMs);
    QList<int> calm;
    int due = 0;
    for (auto entry = m_due.begin(); entry != m_due.end() && due < m_scenario.batchSize; ++entry, ++due) {
        if (isUrgent(row(entry->second), nowMs))
            enqueue(entry->second, m_urgent);
        else
            calm.append(entry->second);
    }
    m_liveOfLastScan = due - static_cast<int>(calm.size()) + begin(calm, nowMs);
    m_batchWasFull = due == m_scenario.batchSize;
}

/// As Backlog: no faster than the pace allows; what is live already was counted when it was begun. How many of them are
/// live now.
int OurPolicy::begin(const QList<int> &calm, qint64 nowMs)
{
    if (calm.isEmpty())
        return 0;
    const core::Pace pace = core::backlogPace(m_active, cycleMs());
    const int taken = core::takePaced(m_paceLevel, pace, static_cast<int>(calm.size()), nowMs);
    const auto begun = std::count_if(calm.begin(), calm.begin() + taken,
                                     [this](int account) { return enqueue(account, m_normal); });
    core::returnPaced(m_paceLevel, pace, taken - static_cast<int>(begun));
    return taken;
}

void OurPolicy::takeDue(qint64 nowMs)
{
    while (!m_waiting.empty() && m_waiting.begin()->first <= nowMs) {
        const int account = m_waiting.begin()->second;
        m_waiting.erase(m_waiting.begin());
        m_due.insert({row(account).expiresAt, account});
    }
}

/// False when there is a job for it already.
bool OurPolicy::enqueue(int account, std::deque<int> &jobs)
{
    if (std::exchange(rowOf(account).isLive, true))
        return false;
    jobs.push_back(account);
    return true;
}

bool OurPolicy::isUrgent(const core::Subscription &row, qint64 nowMs) const
{
    const qint64 lifetimeMs = core::lifetimeMs(row.expiresAt, row.lastSuccessAt, declaredLifetimeMs());
    return core::bandOf(row.expiresAt, nowMs, core::effectiveWindowMs(m_scenario.windowMs, lifetimeMs))
        >= core::Band::Late;
}

/// From one renewal of an account to its next.
qint64 OurPolicy::cycleMs() const
{
    return declaredLifetimeMs() - core::effectiveWindowMs(m_scenario.windowMs, declaredLifetimeMs());
}

/// As the head of RenewalFlow: whoever need not or may not be asked about is done with here.
std::optional<int> OurPolicy::next(qint64 nowMs)
{
    while (!m_urgent.empty() || !m_normal.empty()) {
        std::deque<int> &jobs = m_urgent.empty() ? m_normal : m_urgent;
        const int account = jobs.front();
        jobs.pop_front();
        Row &row = rowOf(account);
        if (row.state == core::AccountState::Active && row.subscription.dueAt <= nowMs) {
            const Incidents::Ticket ticket = m_incidents.admit(heldFor(row.subscription), nowMs);
            if (ticket.admitted) {
                row.ticket = ticket;
                return account;
            }
            save(account, core::postponed(row.subscription, nowMs, ticket.waitMs));
        }
        jobDone(account, nowMs);
    }
    return std::nullopt;
}

bool OurPolicy::keepsToken(int account, qint64 nowMs) const
{
    return nowMs < m_rows.at(static_cast<size_t>(account)).tokenUntil;
}

/// As the tail of RenewalFlow: what the outcome means for all, then for the row.
void OurPolicy::ended(int account, const Answers &answers, qint64 nowMs)
{
    Row &row = rowOf(account);
    const renewal::Attempted attempted = attemptedOf(answers, nowMs);
    if (attempted.freshToken)
        row.tokenUntil = nowMs + keptTokenMs;

    const QString metCode = heldFor(row.subscription);
    const Incidents::Verdict verdict = m_incidents.judge(account, metCode, row.ticket, attempted, nowMs);
    const core::ApplyContext context{nowMs,           m_scenario.windowMs, declaredLifetimeMs(), {},
                                     m_random.next(), verdict.waitMs,      verdict.hold};
    const core::Applied applied = core::applyOutcome(row.subscription, attempted.outcome, context);
    if (applied.accountState) {
        row.state = *applied.accountState;
        --m_active;
        row.stoppedAt = nowMs;
    }
    save(account, applied.subscription);
    if (verdict.waveSinceMs)
        restoreStopped(attempted.outcome.code, *verdict.waveSinceMs, nowMs);
    if (verdict.waveEnded)
        releaseMembers(metCode);
    jobDone(account, nowMs);
}

void OurPolicy::save(int account, const core::Subscription &subscription)
{
    Row &row = rowOf(account);
    m_waiting.erase({row.subscription.dueAt, account});
    m_due.erase({row.subscription.expiresAt, account});
    row.subscription = subscription;
    if (row.state == core::AccountState::Active)
        m_waiting.insert({subscription.dueAt, account});
}

/// A full batch is followed by the next one before it has run dry.
void OurPolicy::jobDone(int account, qint64 nowMs)
{
    rowOf(account).isLive = false;
    m_liveOfLastScan = std::max(0, m_liveOfLastScan - 1);
    if (m_batchWasFull && m_liveOfLastScan == m_scenario.batchSize / 4 && m_soonAt == 0)
        m_soonAt = nowMs + soonMs;
    wakeForProbe(nowMs);
}

void OurPolicy::wakeForProbe(qint64 nowMs)
{
    const std::optional<qint64> wakeAt = m_incidents.nextWakeAt(nowMs);
    // One that is about to come is left alone: a scan too many costs nothing.
    if (wakeAt && (m_wakeAt == 0 || *wakeAt + afterProbeTimeMs < m_wakeAt))
        m_wakeAt = *wakeAt + afterProbeTimeMs;
}

/// As WaveStore::restore: those whom the wave had stopped before it was seen.
void OurPolicy::restoreStopped(const QString &code, qint64 sinceMs, qint64 nowMs)
{
    for (int account = 0; account < m_scenario.count(); ++account) {
        Row &row = rowOf(account);
        const bool wasStopped =
            row.state == core::AccountState::NeedsReauth || row.state == core::AccountState::Parked;
        if (!wasStopped || row.subscription.errorCode != code || row.stoppedAt < sinceMs)
            continue;
        row.state = core::AccountState::Active;
        ++m_active;
        core::Subscription restored = row.subscription;
        restored.errorClass = toString(core::OutcomeKind::Configuration);
        restored.nextTargetAt = nowMs;
        save(account, core::postponed(restored, nowMs, restoredWaitMs));
    }
}

/// As WaveStore::recover: the members become due.
void OurPolicy::releaseMembers(const QString &code)
{
    for (int account = 0; account < m_scenario.count(); ++account) {
        const core::Subscription &member = row(account);
        if (heldFor(member) == code && !code.isEmpty())
            save(account, core::postponed(member, 0, 0));
    }
}

bool OurPolicy::holdsGrant(int account) const
{
    // A grant that is set aside is not in use, and shredded later.
    return m_rows.at(static_cast<size_t>(account)).state == core::AccountState::Active;
}

} // namespace tidekeeper::simulate
