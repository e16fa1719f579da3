// SPDX-License-Identifier: Apache-2.0
#include "limits/uses.h"

#include <QtCore/QByteArrayList>

#include <algorithm>
#include <tuple>

namespace tidekeeper::limits {

namespace {

constexpr qint64 minuteMs = 60'000;
constexpr qsizetype words = 4;

void addTo(std::vector<Use> *sums, const Use &use)
{
    const auto same = std::find_if(sums->begin(), sums->end(), [&use](const Use &sum) {
        return sum.lane == use.lane && sum.caller == use.caller;
    });
    if (same == sums->end()) {
        sums->push_back(use);
        return;
    }
    same->units += use.units;
    same->calls += use.calls;
}

std::vector<Use> greatestFirst(std::vector<Use> uses)
{
    std::erase_if(uses, [](const Use &use) { return use.calls == 0 && use.units == 0; });
    std::sort(uses.begin(), uses.end(), [](const Use &a, const Use &b) {
        return a.units != b.units ? a.units > b.units
                                  : std::tie(a.caller, a.lane) < std::tie(b.caller, b.lane);
    });
    return uses;
}

} // namespace

void appendUse(QByteArray *text, const QByteArray &lane, const QByteArray &encodedCaller, qint64 units,
               qint64 calls)
{
    if (!text->isEmpty())
        text->append(';');
    text->append(lane).append(' ').append(encodedCaller).append(' ');
    text->append(QByteArray::number(units)).append(' ').append(QByteArray::number(calls));
}

std::vector<Use> usesFrom(const QByteArray &text)
{
    std::vector<Use> uses;
    for (const QByteArray &part : text.split(';')) {
        const QByteArrayList word = part.split(' ');
        if (word.size() == words)
            uses.push_back({QString::fromLatin1(word[0]),
                            QString::fromUtf8(QByteArray::fromPercentEncoding(word[1])), word[2].toLongLong(),
                            word[3].toLongLong()});
    }
    return uses;
}

void MinuteOfUses::add(qint64 slot, const QByteArray &text, qint64 nowMs)
{
    const qint64 endMs = (slot + 1) * slotMs;
    const qint64 withinMs = std::clamp(endMs - (nowMs - minuteMs), qint64(0), slotMs);
    for (Use use : usesFrom(text)) {
        use.units = use.units * withinMs / slotMs;
        use.calls = use.calls * withinMs / slotMs;
        addTo(&m_uses, use);
    }
}

std::vector<Use> MinuteOfUses::uses() const
{
    return greatestFirst(m_uses);
}

std::vector<Use> MinuteOfUses::lanes() const
{
    std::vector<Use> sums;
    for (const Use &use : m_uses)
        addTo(&sums, {use.lane, {}, use.units, use.calls});
    return greatestFirst(sums);
}

} // namespace tidekeeper::limits
