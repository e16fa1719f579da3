// SPDX-License-Identifier: Apache-2.0
#include "limits/activeaccounts.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 forgottenAfterMs = 70'000; // no slot of the last minute has anything of it then
constexpr qint64 tidiedEveryMs = 10'000;
constexpr qint64 fullIsToldAgainAfterMs = 60'000;
constexpr qint64 lateMs = 2'000; // a decision may arrive this long after the second it was made in
constexpr int mostCallers = 50;
const QString otherCallers = u"other"_s;

const std::array<QByteArray, 3> lanes{"realtime", "bulk", "renewal"};

quint8 laneIndex(const QString &lane)
{
    const auto found = std::find_if(lanes.begin(), lanes.end(),
                                    [&lane](const QByteArray &l) { return lane == QLatin1StringView(l); });
    return found == lanes.end() ? 0 : quint8(found - lanes.begin());
}

qint64 msToFill(qint64 missingMilli, qint64 refillPerMinute)
{
    return missingMilli <= 0 ? 0 : (missingMilli * 60 + refillPerMinute - 1) / refillPerMinute;
}

template<typename Uses>
void count(Uses *uses, qint64 slot, quint8 lane, quint8 caller, qint64 units)
{
    for (auto &use : *uses) {
        if (use.slot == slot && use.lane == lane && use.caller == caller) {
            use.units += units;
            ++use.calls;
            return;
        }
    }
    uses->append({slot, lane, caller, units, 1});
}

} // namespace

void ActiveAccounts::decided(const Decision &decision)
{
    Entry *entry = entryOf(decision.accountKey, decision.account);
    if (!entry || (decision.mayBeRepeated && decision.nowUs <= entry->decidedUs))
        return;
    const qint64 nowMs = decision.nowUs / 1000;
    entry->decidedUs = decision.nowUs;
    entry->fullAtMs =
        nowMs + msToFill(decision.capacityMilli - decision.levelMilli, decision.refillPerMinute);
    entry->hasNewLevel = true;
    if (decision.refused)
        return;
    const quint8 lane = laneIndex(decision.lane);
    const quint8 caller = callerIndex(decision.caller);
    count(&entry->uses, slotOf(nowMs), lane, caller, decision.grantedUnits);
    count(&m_all, slotOf(nowMs), lane, caller, decision.grantedUnits);
    entry->hasNewUses = true;
    m_allIsNew = true;
}

void ActiveAccounts::emptied(const QByteArray &accountKey, qint64 capacityMilli, qint64 refillPerMinute,
                             qint64 nowUs, const QString &account)
{
    if (Entry *entry = entryOf(accountKey, account)) {
        entry->decidedUs = nowUs;
        entry->fullAtMs = nowUs / 1000 + msToFill(capacityMilli, refillPerMinute);
        entry->hasNewLevel = true;
    }
}

QString ActiveAccounts::accountOf(const QByteArray &accountKey) const
{
    const QHash<QByteArray, Entry> &accounts = m_parts[qHash(accountKey) % partCount].accounts;
    const auto found = accounts.constFind(accountKey);
    return found == accounts.constEnd() ? QString() : found->account;
}

ActiveAccounts::Entry *ActiveAccounts::entryOf(const QByteArray &accountKey, const QString &account)
{
    Part &part = m_parts[qHash(accountKey) % partCount];
    auto found = part.accounts.find(accountKey);
    if (found == part.accounts.end()) {
        if (m_size >= mostAccounts)
            return nullptr;
        ++m_size;
        found = part.accounts.insert(accountKey, {});
    }
    if (!found->isNoted)
        part.changed.append(found.key());
    found->isNoted = true;
    if (found->account.isEmpty())
        found->account = account;
    return &*found;
}

quint8 ActiveAccounts::callerIndex(const QString &caller)
{
    const auto known = m_callerIndices.constFind(caller);
    if (known != m_callerIndices.constEnd())
        return *known;
    if (m_callers.size() >= mostCallers - 1 && caller != otherCallers)
        return callerIndex(otherCallers);
    m_callers.append(caller.toUtf8().toPercentEncoding());
    return m_callerIndices[caller] = quint8(m_callers.size() - 1);
}

ActiveAccounts::Changes ActiveAccounts::takeChanges(int index, int most, qint64 nowMs)
{
    Changes changes;
    Part &part = m_parts[size_t(index)];
    noteThoseOfThePastSlot(part, slotOf(nowMs - lateMs));
    for (int taken = 0; taken < most && !part.changed.isEmpty(); ++taken) {
        const QByteArray accountKey = part.changed.takeLast();
        takeFrom(accountKey, part, nowMs, &changes);
    }
    changes.hasMore = !part.changed.isEmpty();
    if (!changes.hasMore && qAbs(nowMs - part.tidiedMs) >= tidiedEveryMs)
        forgetSilent(part, nowMs);
    if (index == 0 && m_allIsNew) {
        takeUses("*", m_all, nowMs, &changes);
        m_allIsNew = false;
    }
    return changes;
}

void ActiveAccounts::noteThoseOfThePastSlot(Part &part, qint64 slot)
{
    if (part.slot == slot)
        return;
    part.slot = slot;
    for (const QByteArray &accountKey : std::as_const(part.afterSlot)) {
        const auto entry = part.accounts.find(accountKey);
        if (entry == part.accounts.end())
            continue;
        entry->isAfterSlot = false;
        entry->hasNewUses = true;
        if (!entry->isNoted)
            part.changed.append(accountKey);
        entry->isNoted = true;
    }
    part.afterSlot.clear();
}

void ActiveAccounts::forgetSilent(Part &part, qint64 nowMs)
{
    part.tidiedMs = nowMs;
    m_size -= part.accounts.removeIf(
        [nowMs](const auto &account) { return nowMs - account->decidedUs / 1000 > forgottenAfterMs; });
}

void ActiveAccounts::takeFrom(const QByteArray &accountKey, Part &part, qint64 nowMs, Changes *changes)
{
    Entry &entry = part.accounts[accountKey];
    const QByteArray account = accountKey.mid(accountKey.lastIndexOf(':') + 1);
    // Who is full again by now only has to be told from time to time: there may be a great many of them.
    const bool isKnownAsFull = entry.indexedAtMs != 0 && entry.indexedFullAtMs <= nowMs
        && nowMs - entry.indexedAtMs < fullIsToldAgainAfterMs;
    if (entry.hasNewLevel && !(entry.fullAtMs <= nowMs && isKnownAsFull)) {
        changes->index << QByteArray::number(entry.fullAtMs) << account;
        entry.indexedFullAtMs = entry.fullAtMs;
        entry.indexedAtMs = nowMs;
    }
    const auto isOfThisSlot = [&part](const SlotUse &use) { return use.slot >= part.slot; };
    const bool canWait =
        entry.fullAtMs <= nowMs && std::all_of(entry.uses.cbegin(), entry.uses.cend(), isOfThisSlot);
    if (entry.hasNewUses && !canWait) {
        takeUses(account, entry.uses, nowMs, changes);
    } else if (entry.hasNewUses && !entry.isAfterSlot) {
        entry.isAfterSlot = true;
        part.afterSlot.append(accountKey);
    }
    entry.isNoted = false;
    entry.hasNewLevel = false;
    entry.hasNewUses = false;
}

/// Counts of a slot that is over are final: they are written once more and forgotten here.
void ActiveAccounts::takeUses(const QByteArray &field, SlotUses &uses, qint64 nowMs, Changes *changes) const
{
    const auto isOfSlot = [](qint64 slot) { return [slot](const SlotUse &use) { return use.slot == slot; }; };
    for (auto first = uses.cbegin(); first != uses.cend(); ++first) {
        if (std::any_of(uses.cbegin(), first, isOfSlot(first->slot)))
            continue; // written with an earlier one of its slot
        QByteArray text;
        for (auto use = first; use != uses.cend(); ++use) {
            if (use->slot == first->slot)
                appendUse(&text, lanes[use->lane], m_callers[use->caller], use->units, use->calls);
        }
        changes->usesBySlot[first->slot] << field << text;
    }
    const auto isOver = [nowMs](const SlotUse &use) { return use.slot < slotOf(nowMs - lateMs); };
    uses.erase(std::remove_if(uses.begin(), uses.end(), isOver), uses.end());
}

} // namespace tidekeeper::limits
