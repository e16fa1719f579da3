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

} // namespace

qint64 Incidents::waitMs(bool member, qint64 nowMs) const
{
    const qint64 waveMs = member ? 0 : m_wave.breaker.waitMs(nowMs);
    return std::max({m_configuration.breaker.waitMs(nowMs), m_pause.breaker.waitMs(nowMs), waveMs});
}

Incidents::Ticket Incidents::admit(const QString &metCode, qint64 nowMs)
{
    const bool member = isMember(metCode);
    // Ask all before the first probe is taken: one that waits must not cost another its probe.
    if (const qint64 wait = waitMs(member, nowMs); wait > 0) {
        m_waitersUntilMs = std::max(m_waitersUntilMs, nowMs + wait);
        return {false, wait, {}};
    }
    const auto takes = [nowMs](Stop &stop) { return stop.breaker.admit(nowMs) == Breaker::Admission::Probe; };
    Ticket ticket{true, 0, {}};
    ticket.probe.configuration = takes(m_configuration);
    ticket.probe.pause = takes(m_pause);
    ticket.probe.wave = !member && takes(m_wave);
    return ticket;
}

/// True when the stop is over.
bool Incidents::endProbe(Stop &stop, bool isMet, const renewal::Attempted &attempted, qint64 nowMs)
{
    if (isMet) {
        stop.breaker.fail(nowMs, Breaker::Admission::Probe);
        m_waitersUntilMs = std::max(m_waitersUntilMs, nowMs + stop.breaker.waitMs(nowMs));
        return false;
    }
    switch (evidenceOf(stop.fault, attempted, core::GrantKind::Stored)) {
    case renewal::Evidence::Sound:
        return stop.breaker.succeed();
    case renewal::Evidence::Unclear:
        stop.breaker.inconclusive(nowMs, Breaker::Admission::Probe);
        return false;
    case renewal::Evidence::Unasked:
        stop.breaker.unused(nowMs, Breaker::Admission::Probe);
        return false;
    }
    Q_UNREACHABLE();
}

void Incidents::open(Stop &stop, const renewal::Attempted &attempted, qint64 nowMs)
{
    stop.fault = {attempted.outcome.scope, attempted.step, core::GrantKind::Stored};
    stop.breaker.fail(nowMs, Breaker::Admission::Pass);
    m_waitersUntilMs = std::max(m_waitersUntilMs, nowMs + stop.breaker.waitMs(nowMs));
}

Incidents::Verdict Incidents::judge(int account, const QString &metCode, const Ticket &ticket,
                                    const renewal::Attempted &attempted, qint64 nowMs)
{
    const core::Outcome &outcome = attempted.outcome;
    if (core::saysSomething(outcome))
        m_window.add(
            {nowMs, project, client, static_cast<quint64>(account) + 1, outcome.kind, outcome.code, 1});

    const bool isFault = outcome.kind == OutcomeKind::Configuration;
    const bool isTransient = outcome.kind == OutcomeKind::Transient;
    const bool isLoss = core::stopsAccount(outcome);
    if (ticket.probe.configuration)
        endProbe(m_configuration, isFault, attempted, nowMs);
    if (ticket.probe.pause && endProbe(m_pause, isTransient, attempted, nowMs))
        m_window.forgetTransients(project);
    if (ticket.probe.wave)
        endProbe(m_wave, isLoss && outcome.code == m_waveCode, attempted, nowMs);
    if (isFault && !m_configuration.breaker.isOpen())
        open(m_configuration, attempted, nowMs);

    Verdict verdict;
    if (isLoss)
        judgeLoss(outcome.code, attempted, nowMs, verdict);
    if (isTransient && !m_pause.breaker.isOpen() && m_window.mostlyTransient(project, nowMs))
        open(m_pause, attempted, nowMs);
    if (isTransient && m_pause.breaker.isOpen())
        verdict.hold = core::Hold::Pause;
    if (outcome.kind == OutcomeKind::Renewed && isMember(metCode) && attempted.freshToken) {
        m_waveCode.clear();
        m_wave.breaker.succeed();
        m_window.forgetClient(project, client);
        verdict.waveEnded = true;
    }
    verdict.waitMs = waitMs(false, nowMs);
    return verdict;
}

/// A wave that is open holds the account. Nobody confirms one here: users of a simulation revoke one by one.
void Incidents::judgeLoss(const QString &code, const renewal::Attempted &attempted, qint64 nowMs,
                          Verdict &verdict)
{
    if (m_waveCode.isEmpty()) {
        const std::optional<core::SuspectedWave> suspected = m_window.wave(project, client, code, nowMs);
        if (!suspected)
            return;
        m_waveCode = code;
        open(m_wave, attempted, nowMs);
        verdict.waveSinceMs = suspected->sinceMs;
    }
    if (code == m_waveCode)
        verdict.hold = core::Hold::Wave;
}

std::optional<qint64> Incidents::nextWakeAt(qint64 nowMs) const
{
    std::optional<qint64> next;
    if (m_waitersUntilMs > nowMs)
        next = m_waitersUntilMs;
    for (const Stop *stop : {&m_configuration, &m_pause, &m_wave}) {
        const qint64 wait = stop->breaker.waitMs(nowMs);
        if (wait > 0) // 0: its probe may start already, and waits for the next account
            next = std::min(next.value_or(nowMs + wait), nowMs + wait);
    }
    return next;
}

} // namespace tidekeeper::simulate
