// SPDX-License-Identifier: Apache-2.0
#include "limits/recentaccounts.h"

#include <algorithm>
#include <vector>

namespace tidekeeper::limits {

void RecentAccounts::seen(const QString &account, qint64 levelMilli, qint64 serverUs)
{
    m_accounts.insert(account, {levelMilli, serverUs});
    if (m_accounts.size() > m_capacity)
        forgetOlderHalf();
}

void RecentAccounts::forgetOlderHalf()
{
    std::vector<qint64> times;
    times.reserve(size_t(m_accounts.size()));
    for (const Seen &seen : std::as_const(m_accounts))
        times.push_back(seen.serverUs);
    const auto middle = times.begin() + qsizetype(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    const qint64 oldestKept = *middle + 1;
    m_accounts.removeIf([oldestKept](const auto &account) { return account.value().serverUs < oldestKept; });
}

QStringList RecentAccounts::mostDrained(const QString &filter, qsizetype most, qint64 refillPerMinute,
                                        qint64 capacityMilli, qint64 serverUs) const
{
    struct Candidate {
        double levelMilli;
        QString account;
    };
    std::vector<Candidate> candidates;
    for (auto seen = m_accounts.begin(); seen != m_accounts.end(); ++seen) {
        if (!seen.key().contains(filter, Qt::CaseInsensitive))
            continue;
        const double refilled = double(serverUs - seen->serverUs) * double(refillPerMinute) / 60'000;
        candidates.push_back(
            {std::min(double(seen->levelMilli) + refilled, double(capacityMilli)), seen.key()});
    }
    const auto end = candidates.begin() + std::min(most, qsizetype(candidates.size()));
    std::partial_sort(candidates.begin(), end, candidates.end(), [](const Candidate &a, const Candidate &b) {
        return a.levelMilli != b.levelMilli ? a.levelMilli < b.levelMilli : a.account < b.account;
    });
    QStringList accounts;
    std::for_each(candidates.begin(), end, [&accounts](const Candidate &c) { accounts.append(c.account); });
    return accounts;
}

} // namespace tidekeeper::limits
