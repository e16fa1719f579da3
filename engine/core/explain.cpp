// SPDX-License-Identifier: Apache-2.0
#include "core/explain.h"

#include "core/band.h"
#include "core/outcome.h"
#include "core/renewalbackoff.h"
#include "core/timewords.h"

#include <QtCore/QJsonArray>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

QString expirySentence(const ExplainInput &input)
{
    const qint64 expiresAt = input.subscription.expiresAt;
    if (expiresAt <= 0)
        return u"There is no watch yet, or its expiry is unknown."_s;
    const qint64 leftMs = expiresAt - input.nowMs;
    if (leftMs <= 0)
        return u"The watch lapsed %1 ago, at %2."_s.arg(durationWords(leftMs), instantWords(expiresAt));
    return u"The watch lasts another %1, until %2."_s.arg(durationWords(leftMs), instantWords(expiresAt));
}

/// What is wrong with a stopped account, and its remedy, as the last attempt left it.
QString causeOf(const ExplainInput &input)
{
    const QString &text = input.subscription.errorText;
    return text.isEmpty() ? QString() : u' ' + text;
}

QString parkedSentence(const ExplainInput &input)
{
    const QString cause = causeOf(input);
    if (input.account.stateReason == "watch_owned_elsewhere"_L1)
        return u"Not due: the account is parked, since something else holds a watch on its mailbox.%1 Let "
               u"that "
               "end its watch, or take it over: tidekeeper accounts renew ID --take-over."_s.arg(cause);
    const QString reason =
        input.account.stateReason.isEmpty() ? QString() : u" (reason: %1)"_s.arg(input.account.stateReason);
    return u"Not due: the account is parked%1.%2 Resume it once the cause is gone: tidekeeper accounts "
           u"resume "
           "ID."_s.arg(reason, cause);
}

QString stateSentence(const ExplainInput &input)
{
    const QString reason =
        input.account.stateReason.isEmpty() ? QString() : u" (reason: %1)"_s.arg(input.account.stateReason);
    switch (input.account.state) {
    case AccountState::Active:
        return {};
    case AccountState::Paused:
        return u"Not due: the account is paused%1. Resume it to renew it again."_s.arg(reason);
    case AccountState::NeedsReauth:
        return u"Not due: the user has to consent again%1.%2 A new refresh token makes the account due."_s
            .arg(reason, causeOf(input));
    case AccountState::Parked:
        return parkedSentence(input);
    case AccountState::Leaving:
        return u"Not due: the account is leaving; its watch is stopped and it is then forgotten."_s;
    }
    Q_UNREACHABLE();
}

/// Whether what stops many accounts, and not the row's own target or back-off, is what the row waits for.
bool waitsForStop(const ExplainInput &input)
{
    constexpr qint64 slackMs = 1'000; // between the refusal and the saved row
    const Subscription &row = input.subscription;
    if (input.stop == StopKind::None || dueAt(row.expiresAt, row.nextTargetAt, 0) > input.nowMs)
        return false;
    return row.errorClass.isEmpty() || row.errorClass == toString(OutcomeKind::Configuration)
        || row.nextAttemptAt <= input.nowMs + input.stopWaitMs + slackMs;
}

QString stopSentence(const ExplainInput &input, bool isDue)
{
    const QString next = input.stopWaitMs > 0 ? u"in "_s + durationWords(input.stopWaitMs) : u"due now"_s;
    const QString begin = isDue ? u"Due, but"_s : u"Not due:"_s;
    switch (input.stop) {
    case StopKind::None:
        return {};
    case StopKind::Configuration:
        return u"%1 renewals wait for a fault of configuration: %2 The next probe is %3."_s.arg(
            begin, input.stopText, next);
    case StopKind::Pause:
        return u"%1 most calls of project \"%2\" fail for a while, so its renewals pause: %3 They go on by "
               "themselves; the next probe is %4."_s.arg(begin, input.account.project, input.stopText, next);
    case StopKind::Wave:
        return u"%1 many accounts of this client fail in the same way, so its renewals wait: %2 The next "
               u"probe "
               "is %3. See tidekeeper accounts wave list."_s.arg(begin, input.stopText, next);
    }
    Q_UNREACHABLE();
}

QString waveSentence(const ExplainInput &input, bool isDue)
{
    return u"%1 the account is one of a wave, many that met the same loss at once, and is held so that no "
           u"good "
           "grant is given up: %2 It goes on when a renewal of the wave succeeds. If the grants are really "
           "lost, "
           "say so: tidekeeper accounts wave confirm."_s.arg(isDue ? u"Due, but"_s : u"Not due:"_s,
                                                             input.waveText);
}

/// Not due, since the last attempt failed or was put off.
QString backoffSentence(const ExplainInput &input, qint64 due)
{
    const Subscription &row = input.subscription;
    const QString why = row.errorText.isEmpty()
        ? u"It was put off, without an attempt, while something stopped many accounts."_s
        : row.errorText;
    const bool isFrozen = row.errorClass == toString(OutcomeKind::Rate);
    return (isFrozen ? u"Not due: calls are held back by the quota until %2, in %1. %3"_s
                     : u"Not due: the next attempt is in %1, at %2. %3"_s)
        .arg(durationWords(due - input.nowMs), instantWords(due), why);
}

bool isUrgent(const ExplainInput &input, qint64 window)
{
    return bandOf(input.subscription.expiresAt, input.nowMs, window) >= Band::Late;
}

QString pacedSentence(const ExplainInput &input)
{
    return u"Due, but its turn may not have come: a backlog is worked at twice the daily mean at most, and "
           u"the "
           u"last "
           "scan left %1 for a later one. Those with little time left go first, so it does not lapse."_s.arg(
               input.heldBack);
}

/// The first of these that holds decides.
QString summary(const ExplainInput &input, qint64 due, qint64 window)
{
    const bool isDue = due <= input.nowMs;
    if (input.account.state != AccountState::Active)
        return stateSentence(input);
    if (!input.hasProvider)
        return u"Not renewed: no running plugin provides \"%1\". Enable the plugin that does."_s.arg(
            input.subscription.provider);
    if (isDue && input.observe)
        return input.observeReason.isEmpty()
            ? u"Due, but renewing only observes: nothing is called. Set mode = \"renew\"."_s
            : u"Due, but nothing is called: "_s + input.observeReason;
    if (!input.waveText.isEmpty())
        return waveSentence(input, isDue);
    if (waitsForStop(input))
        return stopSentence(input, isDue);
    if (!isDue && input.subscription.nextAttemptAt >= due)
        return backoffSentence(input, due);
    if (!isDue)
        return u"Not due: its turn is in %1, at %2."_s.arg(durationWords(due - input.nowMs),
                                                           instantWords(due));
    if (input.heldBack > 0 && !isUrgent(input, window))
        return pacedSentence(input);
    return input.subscription.expiresAt <= 0
        ? u"Due: there is no watch, or its expiry is unknown."_s
        : u"Due since %1."_s.arg(due > 0 ? instantWords(due) : u"the beginning"_s);
}

/// When it is tried next, and then if it goes on failing; empty while it is not tried at all.
QList<qint64> nextAttempts(const ExplainInput &input, qint64 due, qint64 window)
{
    constexpr int shown = 3;
    if (input.account.state != AccountState::Active || !input.hasProvider || input.observe)
        return {};
    qint64 at = std::max(due, input.nowMs);
    if (waitsForStop(input))
        at = std::max(at, input.nowMs + input.stopWaitMs);
    QList<qint64> attempts;
    for (int failures = input.subscription.attempts + 1; attempts.size() < shown; ++failures) {
        attempts.append(at);
        const bool critical = bandOf(input.subscription.expiresAt, at, window) >= Band::Critical;
        at += renewalBackoffMs(failures, critical, 0.5);
    }
    return attempts;
}

QString attemptsSentence(const QList<qint64> &attempts)
{
    QStringList times;
    for (const qint64 at : attempts.mid(1))
        times.append(instantWords(at));
    return u"It is tried at %1; if it fails, again at about %2."_s.arg(instantWords(attempts.first()),
                                                                       times.join(u" and "_s));
}

/// Empty while nothing is known of delivery.
QString pushSentence(const ExplainInput &input)
{
    if (input.pushState == PushState::Silent)
        return u"The watch is silent: no push followed its last renewal in time, while pushes are expected."_s;
    if (input.lastPushAt <= 0)
        return {};
    const QString last = instantWords(input.lastPushAt);
    return input.pushState == PushState::Proven
        ? u"The watch is proven to deliver: the last push came at %1."_s.arg(last)
        : u"The last push came at %1; none since the last renewal yet."_s.arg(last);
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
            durationWords(input.nowMs - row.lastSuccessAt), instantWords(row.lastSuccessAt)));
    if (row.expiresAt > 0)
        sentences.append(
            u"It is renewed %1 before it lapses, give or take a fixed offset of this account: from %2."_s.arg(
                durationWords(window), instantWords(row.nextTargetAt)));
    if (!row.errorClass.isEmpty())
        sentences.append(u"Since %1 it fails as %2 (%3), after %4 attempts and %5 deferrals: %6"_s
                             .arg(instantWords(row.errorAt), row.errorClass, row.errorCode)
                             .arg(row.attempts)
                             .arg(row.deferrals)
                             .arg(row.errorText));
    if (const QString pushed = pushSentence(input); !pushed.isEmpty())
        sentences.append(pushed);
    if (input.account.state == AccountState::NeedsReauth && !input.grantHint.isEmpty())
        sentences.append(input.grantHint);
    const QList<qint64> attempts = nextAttempts(input, due, window);
    QJsonArray attemptsShown;
    for (const qint64 at : attempts)
        attemptsShown.append(at);
    if (!attempts.isEmpty())
        sentences.append(attemptsSentence(attempts));
    return {{u"subscription"_s, row.id},
            {u"due"_s, isDue},
            {u"summary"_s, summary(input, due, window)},
            {u"sentences"_s, sentences},
            {u"band"_s, toString(bandOf(row.expiresAt, input.nowMs, window))},
            {u"expires_at"_s, row.expiresAt},
            {u"target_at"_s, row.nextTargetAt},
            {u"next_attempt_at"_s, row.nextAttemptAt},
            {u"next_attempts"_s, attemptsShown},
            {u"due_at"_s, due},
            {u"window_ms"_s, window}};
}

} // namespace tidekeeper::core
