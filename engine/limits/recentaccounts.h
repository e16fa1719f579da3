// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QHash>
#include <QtCore/QStringList>

namespace tidekeeper::limits {

/// The accounts of one project that asked this engine lately, with the level that each was left with: the index of
/// the list of levels. It lives in memory only and is bounded: when it is full, the older half is forgotten.
class RecentAccounts {
public:
    explicit RecentAccounts(qsizetype capacity = 100'000) : m_capacity(capacity) { }

    void seen(const QString &account, qint64 levelMilli, qint64 serverUs);

    /// At most `most` accounts whose address contains `filter`, most drained first as far as this engine knows.
    QStringList mostDrained(const QString &filter, qsizetype most, qint64 refillPerMinute,
                            qint64 capacityMilli, qint64 serverUs) const;
    qsizetype size() const { return m_accounts.size(); }

private:
    struct Seen {
        qint64 levelMilli;
        qint64 serverUs;
    };
    void forgetOlderHalf();

    qsizetype m_capacity;
    QHash<QString, Seen> m_accounts;
};

} // namespace tidekeeper::limits
