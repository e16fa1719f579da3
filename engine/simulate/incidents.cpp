// SPDX-License-Identifier: Apache-2.0
#include "simulate/incidents.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::simulate {

using core::Breaker;
using core::OutcomeKind;

namespace {

const QString project = u"default"_s;
const QString client = u"default"_s;

Incidents::Kind faultKindOf(const core::Outcome &outcome)
{
    return outcome.scope == core::FaultScope::Project ? Incidents::ProjectFault : Incidents::ClientFault;
}

} // namespace

qint64 Incidents::waitMs(const QString &metCode, qint64 nowMs) const
{
    qint64 longest = 0;
    for (const Kind kind : kinds) {
        if (stops(kind, metCode))
            longest = std::max(longest, m_stops.at(kind).breaker.waitMs(nowMs));
    }
    return longest;
}

Incidents::Ticket Incidents::admit(const QString &metCode, qint64 nowMs)
{
    // Ask all before the first probe is taken: one that waits must not cost another its probe.
    if (const qint64 wait = waitMs(metCode, nowMs); wait > 0) {
        m_waitersUntilMs = std::max(m_waitersUntilMs, nowMs + wait);
        return {false, wait, {}};
    }
    Ticket ticket{true, 0, {}};
    for (const Kind kind : kinds) {
        ticket.probes.at(kind) =
            stops(kind, metCode) && m_stops.at(kind).breaker.admit(nowMs) == Breaker::Admission::Probe;
    }
    return ticket;
}

/// The probe met what the breaker is open for.
bool Incidents::isMet(Kind kind, const core::Outcome &outcome) const
{
    switch (kind) {
    case ClientFault:
    case ProjectFault:
        return outcome.kind == OutcomeKind::Configuration && faultKindOf(outcome) == kind;
    case Pause:
        return outcome.kind == OutcomeKind::Transient;
    case Wave:
        return core::stopsAccount(outcome) && outcome.code == m_waveCode;
    }
    Q_UNREACHABLE();
}

void Incidents::endProbe(Kind kind, const renewal::Attempted &attempted, qint64 nowMs)
{
    Stop &stop = m_stops.at(kind);
    if (isMet(kind, attempted.outcome)) {
        stop.fault.step = kind == Wave ? stop.fault.step : attempted.step;
        stop.breaker.fail(nowMs, Breaker::Admission::Probe);
        m_waitersUntilMs = std::max(m_waitersUntilMs, nowMs + stop.breaker.waitMs(nowMs));
        return;
    }
    // A pause ends with the first good answer, whatever was asked on the way to it.
    const bool isOver = kind == Pause && attempted.outcome.kind == OutcomeKind::Renewed;
    const renewal::Evidence evidence =
        isOver ? renewal::Evidence::Sound : evidenceOf(stop.fault, attempted, core::GrantKind::Stored);
    switch (evidence) {
    case renewal::Evidence::Sound:
        stop.breaker.succeed();
        if (kind == Pause)
            m_window.forgetTransients(project);
        break;
    case renewal::Evidence::Unclear:
        stop.breaker.inconclusive(nowMs, Breaker::Admission::Probe);
        break;
    case renewal::Evidence::Unasked:
        stop.breaker.unused(nowMs, Breaker::Admission::Probe);
        break;
    }
}

void Incidents::open(Kind kind, const renewal::Attempted &attempted, qint64 nowMs)
{
    Stop &stop = m_stops.at(kind);
    const core::FaultScope scope = kind == Wave ? core::FaultScope::Client : attempted.outcome.scope;
    stop.fault = {scope, attempted.step, core::GrantKind::Stored};
    stop.breaker.fail(nowMs, Breaker::Admission::Pass);
    if (kind != Wave)
        m_waitersUntilMs = std::max(m_waitersUntilMs, nowMs + stop.breaker.waitMs(nowMs));
}

Incidents::Verdict Incidents::judge(int account, const QString &metCode, const Ticket &ticket,
                                    const renewal::Attempted &attempted, qint64 nowMs)
{
    const core::Outcome &outcome = attempted.outcome;
    if (core::saysSomething(outcome))
        m_window.add(
            {nowMs, project, client, static_cast<quint64>(account) + 1, outcome.kind, outcome.code, 1});
    for (const Kind kind : kinds) {
        if (ticket.probes.at(kind))
            endProbe(kind, attempted, nowMs);
    }
    if (outcome.kind == OutcomeKind::Configuration && !m_stops.at(faultKindOf(outcome)).breaker.isOpen())
        open(faultKindOf(outcome), attempted, nowMs);

    Verdict verdict;
    if (core::stopsAccount(outcome))
        judgeLoss(attempted, nowMs, verdict);
    else if (outcome.kind == OutcomeKind::Transient)
        judgeTrouble(attempted, nowMs, verdict);
    else if (outcome.kind == OutcomeKind::Renewed)
        judgeSuccess(metCode, attempted.freshToken, verdict);
    verdict.waitMs = waitMs({}, nowMs);
    return verdict;
}

/// A wave that is open holds the account. Nobody confirms one here: users of a simulation revoke one by one.
void Incidents::judgeLoss(const renewal::Attempted &attempted, qint64 nowMs, Verdict &verdict)
{
    const QString &code = attempted.outcome.code;
    if (m_waveCode.isEmpty()) {
        const std::optional<core::SuspectedWave> suspected = m_window.wave(project, client, code, nowMs);
        if (!suspected)
            return;
        m_waveCode = code;
        open(Wave, attempted, nowMs);
        verdict.waveSinceMs = suspected->sinceMs;
    }
    if (code == m_waveCode)
        verdict.hold = core::Hold::Wave;
}

void Incidents::judgeTrouble(const renewal::Attempted &attempted, qint64 nowMs, Verdict &verdict)
{
    if (!m_stops.at(Pause).breaker.isOpen() && m_window.mostlyTransient(project, nowMs))
        open(Pause, attempted, nowMs);
    if (m_stops.at(Pause).breaker.isOpen())
        verdict.hold = core::Hold::Pause;
}

/// A member that is renewed with the very grant for which it was held shows that the wave is over; an access token that
/// was kept from before proves nothing.
void Incidents::judgeSuccess(const QString &metCode, bool freshToken, Verdict &verdict)
{
    if (!isMember(metCode) || !freshToken)
        return;
    m_waveCode.clear();
    m_stops.at(Wave).breaker.succeed();
    m_window.forgetClient(project, client);
    verdict.waveEnded = true;
}

std::optional<qint64> Incidents::nextWakeAt(qint64 nowMs) const
{
    std::optional<qint64> next;
    if (m_waitersUntilMs > nowMs)
        next = m_waitersUntilMs;
    for (const Stop &stop : m_stops) {
        const qint64 wait = stop.breaker.waitMs(nowMs);
        if (wait > 0) // 0: its probe may start already, and waits for the next account
            next = std::min(next.value_or(nowMs + wait), nowMs + wait);
    }
    return next;
}

} // namespace tidekeeper::simulate
