// SPDX-License-Identifier: Apache-2.0
#include "renewal/breakers.h"

#include "core/attemptwindow.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

using core::Breaker;
using store::BreakerRow;

namespace {

Breaker breakerOf(const BreakerRow &row)
{
    return {row.state, paceOf(row)};
}

Evidence evidenceOf(const BreakerRow &row, const core::Account &account, const Attempted &attempted)
{
    // A pause ends with the first good answer, whatever was asked on the way to it.
    if (kindOf(row) == BreakerKind::Transient && attempted.outcome.kind == core::OutcomeKind::Renewed)
        return Evidence::Sound;
    return evidenceOf(faultOf(row), attempted, account.grantKind);
}

/// The probe met what the breaker is open for.
bool isMet(const BreakerRow &row, const core::Account &account, const core::Outcome &outcome)
{
    switch (kindOf(row)) {
    case BreakerKind::Transient:
        return outcome.kind == core::OutcomeKind::Transient;
    case BreakerKind::Wave:
        return core::stopsAccount(outcome) && outcome.code == row.fault.value("code"_L1).toString();
    case BreakerKind::Configuration:
        return outcome.kind == core::OutcomeKind::Configuration
            && row.scope == scopeOf(outcome.scope, account);
    }
    Q_UNREACHABLE();
}

} // namespace

QList<BreakerRow> Breakers::take(const QList<BreakerRow> &rows)
{
    QMap<QString, BreakerRow> entries;
    for (const BreakerRow &row : rows)
        entries.insert(row.scope, row);
    QList<BreakerRow> closed;
    for (const BreakerRow &before : std::as_const(m_entries)) {
        if (!entries.contains(before.scope))
            closed.append(before);
    }
    m_entries = entries;
    return closed;
}

QList<BreakerRow> Breakers::stopping(const core::Account &account, const QString &metCode) const
{
    QList<BreakerRow> rows;
    for (const BreakerRow &row : m_entries) {
        const bool holdsIt = kindOf(row) == BreakerKind::Wave && !metCode.isEmpty()
            && row.fault.value("code"_L1).toString() == metCode;
        if (!holdsIt && stops(row, account))
            rows.append(row);
    }
    return rows;
}

std::optional<Breakers::Stop> Breakers::stopOf(const core::Account &account, const QString &metCode) const
{
    std::optional<Stop> stop;
    for (const BreakerRow &row : stopping(account, metCode)) {
        const qint64 waitMs = breakerOf(row).waitMs(m_clock.nowMs());
        if (!stop || waitMs > stop->waitMs)
            stop = Stop{waitMs, row.fault.value("text"_L1).toString(), kindOf(row)};
    }
    return stop;
}

void Breakers::waitUntil(qint64 untilMs)
{
    m_waitersUntilMs = std::max(m_waitersUntilMs, untilMs);
}

QCoro::Task<Breakers::Ticket> Breakers::admit(core::Account account, QString metCode, bool forced)
{
    // Ask all before the first probe is taken: one that waits must not cost another its probe.
    const std::optional<Stop> stop = stopOf(account, metCode);
    if (stop && stop->waitMs > 0 && !forced) {
        waitUntil(m_clock.nowMs() + stop->waitMs);
        co_return Ticket{false, stop->waitMs, stop->text};
    }
    Ticket ticket{true, 0, {}};
    for (const BreakerRow &row : stopping(account, metCode)) {
        const bool taken = co_await takeProbe(row, forced, &ticket);
        if (taken)
            continue;
        // Somebody else was quicker, or the database is away. Probes taken so far go back with their lease.
        constexpr qint64 soonMs = 5'000;
        waitUntil(m_clock.nowMs() + soonMs);
        co_return Ticket{false, soonMs, row.fault.value("text"_L1).toString()};
    }
    co_return ticket;
}

QCoro::Task<bool> Breakers::takeProbe(BreakerRow row, bool forced, Ticket *ticket)
{
    Breaker breaker = breakerOf(row);
    if (breaker.admit(m_clock.nowMs(), forced) != Breaker::Admission::Probe)
        co_return false;
    const bool taken = co_await replace(row, breaker);
    if (taken)
        ticket->probes.append({row.scope, Breaker::Admission::Probe, row.generation + 1});
    co_return taken;
}

/// Brings the row to the breaker's state, unless somebody else changed it since it was read.
QCoro::Task<bool> Breakers::replace(BreakerRow row, Breaker breaker)
{
    row.state = breaker.state();
    const Result<bool> replaced = co_await m_store.replaceBreaker(row);
    if (!replaced || !*replaced)
        co_return false;
    ++row.generation;
    m_entries.insert(row.scope, row);
    co_return true;
}

QCoro::Task<Breakers::Changes> Breakers::report(core::Account account, Ticket ticket, Attempted attempted)
{
    Changes changes;
    for (const Part &part : std::as_const(ticket.probes))
        co_await endProbe(part, account, attempted, &changes);

    const bool faulty = attempted.outcome.kind == core::OutcomeKind::Configuration;
    const QString scope = faulty ? scopeOf(attempted.outcome.scope, account) : QString();
    // What was under way when it opened says nothing new.
    if (!faulty || isOpen(scope))
        co_return changes;
    const QJsonObject fault = faultObject(BreakerKind::Configuration, account, attempted);
    const bool opened = co_await open(scope, fault);
    if (opened)
        changes.opened.append(m_entries.value(scope));
    co_return changes;
}

QCoro::Task<> Breakers::endProbe(Part part, core::Account account, Attempted attempted, Changes *changes)
{
    const auto found = m_entries.constFind(part.scope);
    if (found == m_entries.constEnd() || found->generation != part.generation)
        co_return; // given up meanwhile, and another one's probe
    BreakerRow row = *found;
    Breaker breaker = breakerOf(row);
    const qint64 nowMs = m_clock.nowMs();
    if (isMet(row, account, attempted.outcome)) {
        row.fault =
            kindOf(row) == BreakerKind::Wave ? row.fault : faultObject(kindOf(row), account, attempted);
        breaker.fail(nowMs, part.admission);
        waitUntil(nowMs + breaker.waitMs(nowMs));
    } else {
        switch (evidenceOf(row, account, attempted)) {
        case Evidence::Sound: {
            const Result<bool> closed = co_await m_store.closeBreaker(row.scope, row.generation);
            if (closed && *closed) {
                m_entries.remove(row.scope);
                changes->closed.append(row);
            }
            co_return;
        }
        case Evidence::Unclear:
            breaker.inconclusive(nowMs, part.admission);
            break;
        case Evidence::Unasked:
            breaker.unused(nowMs, part.admission);
            break;
        }
    }
    co_await replace(row, breaker);
}

QCoro::Task<bool> Breakers::open(QString scope, QJsonObject fault)
{
    BreakerRow row;
    row.scope = scope;
    row.fault = fault;
    row.openedAt = m_clock.nowMs();
    Breaker breaker(paceOf(row));
    breaker.fail(row.openedAt, Breaker::Admission::Pass);
    row.state = breaker.state();
    waitUntil(row.state.probeAt);
    const Result<bool> opened = co_await m_store.openBreaker(row);
    if (!opened)
        co_return false;
    if (!m_entries.contains(scope)) // when another engine opened it, what it wrote is read within a second
        m_entries.insert(scope, row);
    co_return *opened;
}

std::optional<qint64> Breakers::nextWakeMs() const
{
    const qint64 nowMs = m_clock.nowMs();
    std::optional<qint64> next;
    if (m_waitersUntilMs > nowMs)
        next = m_waitersUntilMs - nowMs;
    for (const BreakerRow &row : m_entries) {
        // 0: its probe may start already, and waits for the next account.
        const qint64 waitMs = breakerOf(row).waitMs(nowMs);
        if (waitMs > 0)
            next = std::min(next.value_or(waitMs), waitMs);
    }
    return next;
}

QJsonArray Breakers::open(BreakerKind kind) const
{
    QJsonArray open;
    for (const BreakerRow &row : m_entries) {
        if (kindOf(row) != kind)
            continue;
        QJsonObject object = shown(row);
        object.insert(u"since"_s, row.openedAt);
        object.insert(u"probe_at"_s, row.state.probeAt);
        object.insert(u"next_probe_in_ms"_s, breakerOf(row).waitMs(m_clock.nowMs()));
        open.append(object);
    }
    return open;
}

} // namespace tidekeeper::renewal
