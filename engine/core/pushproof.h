// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

#include <optional>

// Whether a watch delivers. Gmail sends one notification right after each successful watch, so the proof is owed per
// renewal: a mailbox that is merely quiet is not silent. All instants are epoch ms, 0 = never.
namespace tidekeeper::core {

struct PushLimits {
    qint64 provenWithinMs = 120'000; ///< so long a push may take after its renewal
    qint64 brokenAfterMs = 600'000; ///< so long nobody's renewal was followed by any push at all
    qint64 aheadMs = 10'000; ///< so far a push may overtake the answer to the very watch that caused it
};

enum class PushState : quint8 { Unproven, Proven, Silent };
QString toString(PushState state); ///< "unproven"

/// provenSince: when the first push was ever reported; nothing is silent before, nor for what was renewed before.
PushState pushStateOf(qint64 renewedAt, qint64 lastPushAt, qint64 provenSince, qint64 nowMs,
                      const PushLimits &limits);

/// firstUnansweredAt: the oldest renewal after the newest push of anybody.
bool isPushPathBroken(qint64 provenSince, qint64 firstUnansweredAt, qint64 nowMs, const PushLimits &limits);

enum class SilenceStep : quint8 { None, Repair, Tell };
/// What to do about a silent watch: one repair, and when a renewal after that stays silent too, tell a person, once.
/// repairedAt, toldAt: of this silence; a push ends it and both are 0 again.
SilenceStep silenceStep(qint64 renewedAt, qint64 repairedAt, qint64 toldAt);

/// An unsigned 64 bit number in digits; empty otherwise. Never through a double.
std::optional<quint64> historyId(const QString &text);
/// Is given older than known? Pushes are repeated and overtake each other; the same id again is not older.
bool isStaleHistory(const QString &given, const QString &known);

} // namespace tidekeeper::core
