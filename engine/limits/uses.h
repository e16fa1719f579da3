// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QString>

#include <vector>

namespace tidekeeper::limits {

/// What was granted to one caller in one lane.
struct Use {
    QString lane;
    QString caller; ///< empty: the request had no tag
    qint64 units = 0;
    qint64 calls = 0;
};

/// Grants are counted in slots of ten seconds of the server's time; a minute is the present slot, the five before it and
/// the part of a seventh that is younger than a minute.
constexpr qint64 slotMs = 10'000;
constexpr int slotsOfAMinute = 7;
inline qint64 slotOf(qint64 nowMs)
{
    return nowMs / slotMs;
}

/// "realtime sync 120 3;bulk import 40 1": lane, caller (percent-encoded), units, calls.
void appendUse(QByteArray *text, const QByteArray &lane, const QByteArray &encodedCaller, qint64 units,
               qint64 calls);
std::vector<Use> usesFrom(const QByteArray &text); ///< what cannot be read is left out

/// Adds up what several slots and engines counted.
class MinuteOfUses {
public:
    /// Of a slot that began more than a minute ago only a part counts; grants are taken to be even over it.
    void add(qint64 slot, const QByteArray &text, qint64 nowMs);

    /// By caller and lane, the greatest number of units first.
    std::vector<Use> uses() const;
    /// The same without the callers.
    std::vector<Use> lanes() const;

private:
    std::vector<Use> m_uses;
};

} // namespace tidekeeper::limits
