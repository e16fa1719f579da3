// SPDX-License-Identifier: Apache-2.0
#include "core/pushproof.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

QString toString(PushState state)
{
    switch (state) {
    case PushState::Unproven:
        return u"unproven"_s;
    case PushState::Proven:
        return u"proven"_s;
    case PushState::Silent:
        return u"silent"_s;
    }
    return {};
}

PushState pushStateOf(qint64 renewedAt, qint64 lastPushAt, qint64 provenSince, qint64 nowMs,
                      const PushLimits &limits)
{
    if (renewedAt <= 0)
        return PushState::Unproven;
    if (lastPushAt > 0 && lastPushAt >= renewedAt - limits.aheadMs)
        return PushState::Proven;
    const bool owed = provenSince > 0 && renewedAt >= provenSince;
    return owed && nowMs - renewedAt > limits.provenWithinMs ? PushState::Silent : PushState::Unproven;
}

bool isPushPathBroken(qint64 provenSince, qint64 firstUnansweredAt, qint64 nowMs, const PushLimits &limits)
{
    return provenSince > 0 && firstUnansweredAt > 0 && nowMs - firstUnansweredAt >= limits.brokenAfterMs;
}

SilenceStep silenceStep(qint64 renewedAt, qint64 repairedAt, qint64 toldAt)
{
    if (repairedAt <= 0)
        return SilenceStep::Repair;
    return toldAt <= 0 && renewedAt >= repairedAt ? SilenceStep::Tell : SilenceStep::None;
}

std::optional<quint64> historyId(const QString &text)
{
    const auto isDigit = [](QChar c) { return c >= u'0' && c <= u'9'; };
    if (text.isEmpty() || !std::all_of(text.begin(), text.end(), isDigit))
        return std::nullopt;
    bool fits = false;
    const quint64 id = text.toULongLong(&fits);
    return fits ? std::optional(id) : std::nullopt;
}

bool isStaleHistory(const QString &given, const QString &known)
{
    const std::optional<quint64> a = historyId(given);
    const std::optional<quint64> b = historyId(known);
    return a && b && *a < *b;
}

} // namespace tidekeeper::core
