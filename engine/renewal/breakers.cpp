// SPDX-License-Identifier: Apache-2.0
#include "renewal/breakers.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

QString domainOf(const core::Account &account)
{
    return account.email.section(u'@', -1);
}

QString keyOf(core::FaultScope scope, const core::Account &account)
{
    switch (scope) {
    case core::FaultScope::Project:
        return u"project\n"_s + account.project;
    case core::FaultScope::Client:
        return u"client\n"_s + account.project + u'\n' + account.client;
    case core::FaultScope::Domain:
        return u"domain\n"_s + account.project + u'\n' + account.client + u'\n' + domainOf(account);
    }
    Q_UNREACHABLE();
}

QStringList keysOf(const core::Account &account)
{
    return {keyOf(core::FaultScope::Project, account), keyOf(core::FaultScope::Client, account),
            keyOf(core::FaultScope::Domain, account)};
}

QJsonObject shown(const core::Account &account, const core::Outcome &outcome)
{
    QJsonObject fault{{u"scope"_s, toString(outcome.scope)},
                      {u"project"_s, account.project},
                      {u"code"_s, outcome.code},
                      {u"text"_s, outcome.text},
                      {u"remedy"_s, outcome.remedy}};
    if (outcome.scope != core::FaultScope::Project)
        fault.insert(u"client"_s, account.client);
    if (outcome.scope == core::FaultScope::Domain)
        fault.insert(u"domain"_s, domainOf(account));
    return fault;
}

} // namespace

std::optional<Breakers::Stop> Breakers::stopOf(const core::Account &account) const
{
    std::optional<Stop> stop;
    for (const QString &key : keysOf(account)) {
        const auto it = m_entries.constFind(key);
        if (it == m_entries.constEnd() || !it->breaker.isOpen())
            continue;
        const qint64 waitMs = it->breaker.waitMs(m_clock.monotonicMs());
        if (!stop || waitMs > stop->waitMs)
            stop = Stop{waitMs, it->shown.value("text"_L1).toString()};
    }
    return stop;
}

Breakers::Ticket Breakers::admit(const core::Account &account, bool forced)
{
    // Ask all before the first probe is taken: one that waits must not cost another its probe.
    const std::optional<Stop> stop = stopOf(account);
    if (stop && stop->waitMs > 0 && !forced) {
        m_waitersUntilMs = std::max(m_waitersUntilMs, m_clock.monotonicMs() + stop->waitMs);
        return {false, stop->waitMs, stop->text, {}};
    }
    Ticket ticket{true, 0, {}, {}};
    for (const QString &key : keysOf(account)) {
        const auto it = m_entries.find(key);
        const auto admission = it == m_entries.end() ? core::Breaker::Admission::Pass
                                                     : it->breaker.admit(m_clock.monotonicMs(), forced);
        ticket.parts.append({key, admission});
    }
    return ticket;
}

Breakers::Changes Breakers::report(const core::Account &account, const Ticket &ticket,
                                   const Attempted &attempted)
{
    const core::Outcome &outcome = attempted.outcome;
    const qint64 nowMs = m_clock.monotonicMs();
    const bool faulty = outcome.kind == core::OutcomeKind::Configuration;
    const QString faultyKey = faulty ? keyOf(outcome.scope, account) : QString();
    Changes changes;
    for (const auto &[key, admission] : ticket.parts) {
        if (key == faultyKey) {
            Entry &entry = m_entries[key];
            entry.fault = {outcome.scope, attempted.step, account.grantKind};
            entry.shown = shown(account, outcome);
            changes.opened = entry.breaker.fail(nowMs, admission);
            m_waitersUntilMs = std::max(m_waitersUntilMs, nowMs + entry.breaker.waitMs(nowMs));
            continue;
        }
        const auto it = m_entries.find(key);
        // Work that was under way when the breaker opened proves nothing, not even by success.
        if (it == m_entries.end() || admission != core::Breaker::Admission::Probe)
            continue;
        switch (evidenceOf(it->fault, attempted, account.grantKind)) {
        case Evidence::Sound:
            changes.closed = it->breaker.succeed() || changes.closed;
            m_entries.erase(it);
            break;
        case Evidence::Unclear:
            it->breaker.inconclusive(nowMs, admission);
            break;
        case Evidence::Unasked:
            it->breaker.unused(nowMs, admission);
            break;
        }
    }
    return changes;
}

std::optional<qint64> Breakers::nextWakeMs() const
{
    const qint64 nowMs = m_clock.monotonicMs();
    std::optional<qint64> next;
    if (m_waitersUntilMs > nowMs)
        next = m_waitersUntilMs - nowMs;
    for (const Entry &entry : m_entries) {
        // 0: its probe may start already, and waits for the next account.
        const qint64 waitMs = entry.breaker.waitMs(nowMs);
        if (waitMs > 0)
            next = std::min(next.value_or(waitMs), waitMs);
    }
    return next;
}

QJsonArray Breakers::open() const
{
    QJsonArray open;
    for (const Entry &entry : m_entries) {
        if (!entry.breaker.isOpen())
            continue;
        QJsonObject object = entry.shown;
        object.insert(u"next_probe_in_ms"_s, entry.breaker.waitMs(m_clock.monotonicMs()));
        open.append(object);
    }
    return open;
}

} // namespace tidekeeper::renewal
