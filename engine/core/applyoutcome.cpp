// SPDX-License-Identifier: Apache-2.0
#include "core/applyoutcome.h"

#include "core/band.h"
#include "core/planner.h"
#include "core/renewalbackoff.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qint64 longestDeferralMs = dayMs;
constexpr qint64 deferralAlertMs = hourMs;
constexpr qint64 clockSlackMs = hourMs; ///< how far the provider's clock may be ahead of ours

/// Mark in the data: the alert for this run of deferrals is out.
const QString deferralAlertKey = u"deferral_alerted_at"_s;

QJsonObject eventOf(const Subscription &row, QJsonObject more)
{
    more.insert(u"account"_s, row.account);
    more.insert(u"subscription"_s, row.id);
    more.insert(u"expires_at"_s, row.expiresAt);
    return more;
}

QJsonObject merged(QJsonObject stored, const QJsonObject &fresh, const QStringList &cursorKeys)
{
    for (auto it = fresh.begin(); it != fresh.end(); ++it) {
        const QJsonValue held = stored.value(it.key());
        const bool isEmpty = held.isUndefined() || held.isNull() || held == QString();
        if (isEmpty || !cursorKeys.contains(it.key()))
            stored.insert(it.key(), it.value());
    }
    return stored;
}

qint64 windowOf(const Subscription &row, const ApplyContext &context)
{
    return effectiveWindowMs(context.windowMs,
                             lifetimeMs(row.expiresAt, row.lastSuccessAt, context.declaredLifetimeMs));
}

qint64 backoffMs(const Subscription &row, int failures, const ApplyContext &context)
{
    const Band band = bandOf(row.expiresAt, context.nowMs, windowOf(row, context));
    return renewalBackoffMs(failures, band >= Band::Critical, context.jitter);
}

void setError(Subscription &row, const Outcome &outcome, qint64 nowMs)
{
    const QString errorClass = toString(outcome.kind);
    if (row.errorClass != errorClass)
        row.errorAt = nowMs; // since when it fails this way
    row.errorClass = errorClass;
    row.errorCode = outcome.code;
    row.errorText = outcome.remedy.isEmpty() ? outcome.text : outcome.text + u' ' + outcome.remedy;
}

/// What every attempt without a renewal leaves in the row, whatever it means.
void setFailure(Subscription &row, const Outcome &outcome, const ApplyContext &context)
{
    setError(row, outcome, context.nowMs);
    row.data = merged(row.data, outcome.data, context.cursorKeys);
    if (outcome.endedAt > 0 && row.expiresAt > outcome.endedAt) {
        row.expiresAt = outcome.endedAt;
        row.nextTargetAt = std::min(row.nextTargetAt, context.nowMs);
    }
    if (outcome.kind != OutcomeKind::Rate)
        row.data.remove(deferralAlertKey);
}

/// A grant shorter than 6/7 of what the provider declares. Told when it becomes so and when it changes by more than a
/// tenth, not at each renewal.
bool isNewlyShort(const Subscription &before, qint64 grantedMs, qint64 declaredMs)
{
    const auto isShort = [declaredMs](qint64 ms) { return ms < declaredMs / 7 * 6; };
    const qint64 previousMs = before.lastSuccessAt > 0 ? before.expiresAt - before.lastSuccessAt : declaredMs;
    return isShort(grantedMs) && (!isShort(previousMs) || qAbs(previousMs - grantedMs) > declaredMs / 10);
}

Applied renewed(const Subscription &before, const Outcome &outcome, const ApplyContext &context)
{
    Applied applied{before, std::nullopt, {}};
    Subscription &row = applied.subscription;
    // Nothing lives longer than its provider declares: a time far beyond is a mistake, and would let it lapse unseen.
    row.expiresAt = std::min(outcome.expiresAt, context.nowMs + context.declaredLifetimeMs + clockSlackMs);
    row.lastSuccessAt = context.nowMs;
    row.nextTargetAt = nextTarget(
        {row.account, row.expiresAt, row.lastSuccessAt, context.windowMs, context.declaredLifetimeMs});
    row.nextAttemptAt = 0;
    row.attempts = 0;
    row.deferrals = 0;
    row.errorClass.clear();
    row.errorCode.clear();
    row.errorText.clear();
    row.errorAt = 0;
    row.data = merged(before.data, outcome.data, context.cursorKeys);
    row.data.remove(deferralAlertKey);

    applied.notices.append({u"account.renewed"_s, eventOf(row, {{u"next_target_at"_s, row.nextTargetAt}})});
    const bool hadLapsed = before.expiresAt > 0 && before.expiresAt <= context.nowMs;
    if (before.attempts > 0 || hadLapsed)
        applied.notices.append({u"account.recovered"_s, eventOf(row, {{u"attempts"_s, before.attempts}})});
    if (hadLapsed) {
        const QJsonObject gap{{u"from"_s, before.expiresAt},
                              {u"to"_s, context.nowMs},
                              {u"history_id"_s, before.data.value("history_id"_L1)}};
        applied.notices.append({u"watch.gap"_s, eventOf(row, gap)});
    }
    const qint64 grantedMs = row.expiresAt - context.nowMs;
    if (isNewlyShort(before, grantedMs, context.declaredLifetimeMs))
        applied.notices.append({u"renewal.lifetime_short"_s, eventOf(row, {{u"granted_ms"_s, grantedMs}})});
    return applied;
}

Applied failed(const Subscription &before, const Outcome &outcome, const ApplyContext &context)
{
    Applied applied{before, std::nullopt, {}};
    Subscription &row = applied.subscription;
    setFailure(row, outcome, context);
    row.attempts += 1;
    row.nextAttemptAt = context.nowMs + backoffMs(row, row.attempts, context);
    const QJsonObject event{{u"class"_s, row.errorClass},
                            {u"code"_s, row.errorCode},
                            {u"text"_s, row.errorText},
                            {u"attempts"_s, row.attempts},
                            {u"next_attempt_at"_s, row.nextAttemptAt}};
    applied.notices.append({u"renewal.failed"_s, eventOf(row, event)});
    return applied;
}

Applied deferred(const Subscription &before, const Outcome &outcome, const ApplyContext &context)
{
    Applied applied{before, std::nullopt, {}};
    Subscription &row = applied.subscription;
    setFailure(row, outcome, context);
    row.deferrals += 1;
    const qint64 toldMs = std::clamp<qint64>(outcome.until - context.nowMs, 1'000, longestDeferralMs);
    row.nextAttemptAt = context.nowMs + (outcome.until > 0 ? toldMs : backoffMs(row, row.deferrals, context));
    const QJsonObject event{{u"code"_s, row.errorCode},
                            {u"text"_s, row.errorText},
                            {u"since"_s, row.errorAt},
                            {u"next_attempt_at"_s, row.nextAttemptAt}};
    applied.notices.append({u"renewal.deferred"_s, eventOf(row, event)});
    if (context.nowMs - row.errorAt > deferralAlertMs && !row.data.contains(deferralAlertKey)) {
        row.data.insert(deferralAlertKey, context.nowMs);
        applied.notices.append({u"alert.renewal_deferred"_s, eventOf(row, event)});
    }
    return applied;
}

/// The configuration is at fault, not the row: it waits for the breaker and nothing is counted.
Applied waiting(const Subscription &before, const Outcome &outcome, const ApplyContext &context)
{
    Subscription row = postponed(before, context.nowMs, context.breakerWaitMs);
    setFailure(row, outcome, context);
    return {row, std::nullopt, {}};
}

Applied stopped(const Subscription &before, const Outcome &outcome, AccountState state, const QString &event,
                const ApplyContext &context)
{
    Applied applied{before, state, {}};
    Subscription &row = applied.subscription;
    setFailure(row, outcome, context);
    row.nextAttemptAt = 0;
    const QJsonObject why{
        {u"reason"_s, outcome.code}, {u"text"_s, outcome.text}, {u"remedy"_s, outcome.remedy}};
    applied.notices.append({event, eventOf(row, why)});
    return applied;
}

/// Said to be renewed, and over already.
Outcome alreadyOver()
{
    return Outcome::transient(
        u"expired_answer"_s,
        u"It was renewed, but for a time that has passed already: is this machine's clock "
        "right?"_s);
}

Applied applyByKind(const Subscription &before, const Outcome &outcome, const ApplyContext &context)
{
    switch (outcome.kind) {
    case OutcomeKind::Renewed:
        return renewed(before, outcome, context);
    case OutcomeKind::Rate:
        return deferred(before, outcome, context);
    case OutcomeKind::Transient:
    case OutcomeKind::Unauthorized:
    case OutcomeKind::Local:
        return failed(before, outcome, context);
    case OutcomeKind::Configuration:
        return waiting(before, outcome, context);
    case OutcomeKind::Revoked:
        return stopped(before, outcome, AccountState::NeedsReauth, u"account.reauth_required"_s, context);
    case OutcomeKind::Account:
        return stopped(before, outcome, outcome.accountState,
                       outcome.accountState == AccountState::NeedsReauth ? u"account.reauth_required"_s
                                                                         : u"account.parked"_s,
                       context);
    case OutcomeKind::OwnedElsewhere:
        return stopped(before, outcome, AccountState::Parked, u"alert.watch_owned_elsewhere"_s, context);
    case OutcomeKind::Gone:
        return stopped(before, outcome, AccountState::Parked, u"account.parked"_s, context);
    }
    Q_UNREACHABLE();
}

Applied applyHeld(const Subscription &before, Outcome outcome, const ApplyContext &context)
{
    if (context.hold == Hold::Pause)
        return waiting(before, outcome, context);
    outcome.kind = OutcomeKind::Configuration; // what it is as long as nobody says otherwise
    return failed(before, outcome, context);
}

} // namespace

Applied applyOutcome(const Subscription &before, const Outcome &outcome, const ApplyContext &context)
{
    const bool isOver = outcome.kind == OutcomeKind::Renewed && outcome.expiresAt <= context.nowMs;
    Applied applied = context.hold != Hold::None ? applyHeld(before, outcome, context)
        : isOver                                 ? failed(before, alreadyOver(), context)
                                                 : applyByKind(before, outcome, context);
    Subscription &row = applied.subscription;
    row.dueAt = dueAt(row.expiresAt, row.nextTargetAt, row.nextAttemptAt);
    return applied;
}

Subscription postponed(Subscription row, qint64 nowMs, qint64 waitMs)
{
    row.nextAttemptAt = nowMs + waitMs;
    row.dueAt = dueAt(row.expiresAt, row.nextTargetAt, row.nextAttemptAt);
    return row;
}

} // namespace tidekeeper::core
