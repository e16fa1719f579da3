// SPDX-License-Identifier: Apache-2.0
#include "core/explain.h"

#include "core/band.h"
#include "core/outcome.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

#include <cstdlib>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

QString instant(qint64 ms)
{
    return QDateTime::fromMSecsSinceEpoch(ms, Qt::UTC).toString(u"yyyy-MM-dd HH:mm:ss 'UTC'"_s);
}

qint64 rounded(qint64 ms, qint64 unitMs)
{
    return (ms + unitMs / 2) / unitMs;
}

QString duration(qint64 ms)
{
    const auto unit = [](qint64 count, const QString &name) {
        return u"%1 %2"_s.arg(count).arg(count == 1 ? name : name + u's');
    };
    ms = std::llabs(ms);
    const auto units = [&unit](qint64 count, qint64 ofWhole, const QString &whole, const QString &part) {
        const QString text = unit(count / ofWhole, whole);
        return count % ofWhole == 0 ? text : text + u' ' + unit(count % ofWhole, part);
    };
    if (ms >= 2 * dayMs)
        return units(rounded(ms, hourMs), dayMs / hourMs, u"day"_s, u"hour"_s);
    if (ms >= 2 * hourMs)
        return units(rounded(ms, minuteMs), hourMs / minuteMs, u"hour"_s, u"minute"_s);
    if (ms >= 2 * minuteMs)
        return unit(rounded(ms, minuteMs), u"minute"_s);
    return unit(rounded(ms, 1'000), u"second"_s);
}

QString expirySentence(const ExplainInput &input)
{
    const qint64 expiresAt = input.subscription.expiresAt;
    if (expiresAt <= 0)
        return u"There is no watch yet, or its expiry is unknown."_s;
    const qint64 leftMs = expiresAt - input.nowMs;
    if (leftMs <= 0)
        return u"The watch lapsed %1 ago, at %2."_s.arg(duration(leftMs), instant(expiresAt));
    return u"The watch lasts another %1, until %2."_s.arg(duration(leftMs), instant(expiresAt));
}

QString stateSentence(const Account &account)
{
    const QString reason =
        account.stateReason.isEmpty() ? QString() : u" (reason: %1)"_s.arg(account.stateReason);
    switch (account.state) {
    case AccountState::Active:
        return {};
    case AccountState::Paused:
        return u"Not due: the account is paused%1. Resume it to renew it again."_s.arg(reason);
    case AccountState::NeedsReauth:
        return u"Not due: the user has to consent again%1. A new refresh token makes the account due."_s.arg(
            reason);
    case AccountState::Parked:
        return u"Not due: the account is parked%1. Resume it once the cause is gone."_s.arg(reason);
    case AccountState::Leaving:
        return u"Not due: the account is leaving; its watch is stopped and it is then forgotten."_s;
    }
    Q_UNREACHABLE();
}

/// Whether an open breaker, and not the row's own target or back-off, is what the row waits for.
bool waitsForBreaker(const ExplainInput &input)
{
    constexpr qint64 slackMs = 1'000; // between the refusal and the saved row
    const Subscription &row = input.subscription;
    if (input.stopText.isEmpty() || dueAt(row.expiresAt, row.nextTargetAt, 0) > input.nowMs)
        return false;
    return row.errorClass.isEmpty() || row.errorClass == toString(OutcomeKind::Configuration)
        || row.nextAttemptAt <= input.nowMs + input.stopWaitMs + slackMs;
}

QString breakerSentence(const ExplainInput &input, bool isDue)
{
    const QString next = input.stopWaitMs > 0 ? u"in "_s + duration(input.stopWaitMs) : u"due now"_s;
    return u"%1 renewals wait for a fault of configuration: %2 The next probe is %3."_s.arg(
        isDue ? u"Due, but"_s : u"Not due:"_s, input.stopText, next);
}

/// The first of these that holds decides.
QString summary(const ExplainInput &input, qint64 due)
{
    if (input.account.state != AccountState::Active)
        return stateSentence(input.account);
    if (!input.hasProvider)
        return u"Not renewed: no running plugin provides \"%1\"."_s.arg(input.subscription.provider);
    if (waitsForBreaker(input))
        return breakerSentence(input, due <= input.nowMs);
    if (due > input.nowMs && input.subscription.nextAttemptAt >= due) {
        const QString why = input.subscription.errorText.isEmpty()
            ? u"It was put off, without an attempt, while a fault of configuration was open."_s
            : input.subscription.errorText;
        return u"Not due: the next attempt is in %1. %2"_s.arg(duration(due - input.nowMs), why);
    }
    if (due > input.nowMs)
        return u"Not due: its turn is in %1, at %2."_s.arg(duration(due - input.nowMs), instant(due));
    if (input.observe)
        return u"Due, but renewing only observes: nothing is called."_s;
    return input.subscription.expiresAt <= 0
        ? u"Due: there is no watch, or its expiry is unknown."_s
        : u"Due since %1."_s.arg(due > 0 ? instant(due) : u"the beginning"_s);
}

} // namespace

QJsonObject explain(const ExplainInput &input)
{
    const Subscription &row = input.subscription;
    const qint64 due = dueAt(row.expiresAt, row.nextTargetAt, row.nextAttemptAt);
    const qint64 window = effectiveWindowMs(
        input.windowMs, lifetimeMs(row.expiresAt, row.lastSuccessAt, input.declaredLifetimeMs));
    const bool isDue = input.account.state == AccountState::Active && due <= input.nowMs;

    QJsonArray sentences{expirySentence(input)};
    if (row.lastSuccessAt > 0)
        sentences.append(u"The last success was %1 ago, at %2."_s.arg(
            duration(input.nowMs - row.lastSuccessAt), instant(row.lastSuccessAt)));
    if (row.expiresAt > 0)
        sentences.append(
            u"It is renewed %1 before it lapses, give or take a fixed offset of this account: from %2."_s.arg(
                duration(window), instant(row.nextTargetAt)));
    if (!row.errorClass.isEmpty())
        sentences.append(u"Since %1 it fails as %2 (%3), after %4 attempts and %5 deferrals: %6"_s
                             .arg(instant(row.errorAt), row.errorClass, row.errorCode)
                             .arg(row.attempts)
                             .arg(row.deferrals)
                             .arg(row.errorText));
    return {{u"subscription"_s, row.id},
            {u"due"_s, isDue},
            {u"summary"_s, summary(input, due)},
            {u"sentences"_s, sentences},
            {u"band"_s, toString(bandOf(row.expiresAt, input.nowMs, window))},
            {u"expires_at"_s, row.expiresAt},
            {u"target_at"_s, row.nextTargetAt},
            {u"next_attempt_at"_s, row.nextAttemptAt},
            {u"due_at"_s, due},
            {u"window_ms"_s, window}};
}

} // namespace tidekeeper::core
