// SPDX-License-Identifier: Apache-2.0
#include "decide/stopfirst.h"

#include "decide/watchrequest.h"

using namespace Qt::StringLiterals;

namespace watchrenewal {

namespace {

constexpr qint64 repairEveryMs = 24LL * 3'600'000;

/// Whether the mark was set less than ms ago. One from the future, set by a clock that was off, counts for as long.
bool isRecent(const QJsonObject &subscription, QLatin1StringView mark, qint64 ms, qint64 nowMs)
{
    const qint64 at = subscription.value("data"_L1).toObject().value(mark).toInteger();
    return at > 0 && qAbs(nowMs - at) < ms;
}

} // namespace

bool isRepair(const QJsonObject &subscription, qint64 nowMs)
{
    return subscription.value("repair"_L1).toBool()
        && !isRecent(subscription, "repaired_at"_L1, repairEveryMs, nowMs);
}

bool mayTakeOver(const QJsonObject &subscription, qint64 nowMs)
{
    if (subscription.value("take_over"_L1).toBool())
        return true;
    const bool isAlive = subscription.value("expires_at"_L1).toInteger() > nowMs;
    return isAlive && !isRecent(subscription, "taken_over_at"_L1, lifetimeMs, nowMs);
}

QJsonObject afterStop(QJsonObject outcome, const QString &mark, qint64 nowMs)
{
    QJsonObject data = outcome.value("data"_L1).toObject();
    data.insert(mark, nowMs);
    outcome.insert(u"data"_s, data);
    if (outcome.value("outcome"_L1) != "renewed"_L1)
        outcome.insert(u"ended_at"_s, nowMs);
    // The engine would call again at once with a fresh token and with the row as it was: the mark would be lost.
    if (outcome.value("outcome"_L1) == "unauthorized"_L1)
        outcome.insert(u"outcome"_s, u"transient"_s);
    return outcome;
}

QJsonObject withOwnerRemedy(QJsonObject outcome, const QJsonObject &subscription, const QString &topic)
{
    outcome.insert(
        u"remedy"_s,
        u"Our topic is %1. Find who else watches with this OAuth project (a staging or test system, an "
        "older installation, a developer's machine) and stop it or give it a project of its own; then: "
        "tidekeeper accounts renew %2 --take-over"_s.arg(topic, subscription.value("account"_L1).toString()));
    return outcome;
}

} // namespace watchrenewal
