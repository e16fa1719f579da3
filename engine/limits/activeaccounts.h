// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/uses.h"

#include <QtCore/QByteArrayList>
#include <QtCore/QHash>
#include <QtCore/QVarLengthArray>

#include <array>

namespace tidekeeper::limits {

/// What this engine saw of the accounts of one project in the last minute: when each bucket will be full, and what was
/// granted to which lane and caller. Memory only; LevelIndex brings the changes to Redis once a second; what accounts
/// whose bucket is full again used, which may be a great many, once in ten seconds. Its work per
/// decision is one look-up in a hash. Times are the server's.
class ActiveAccounts {
public:
    /// Accounts are kept in parts, so that a second's changes can be written a part at a time.
    static constexpr int partCount = 64;
    static constexpr qsizetype mostAccounts = 500'000; ///< in a minute; more are not listed

    struct Decision {
        const QByteArray &accountKey; ///< of Redis
        qint64 levelMilli; ///< of the account's bucket, after the decision
        qint64 capacityMilli;
        qint64 refillPerMinute; ///< units
        qint64 nowUs;
        const QString &lane;
        const QString &caller;
        qint64 grantedUnits; ///< 0 when refused
        bool refused;
        bool mayBeRepeated; ///< it had an id: the answer may be an earlier one's
        QString account = {}; ///< for accountOf(); empty: its key tells it
    };
    void decided(const Decision &decision);

    /// The account's bucket was emptied by a report of a refused call.
    void emptied(const QByteArray &accountKey, qint64 capacityMilli, qint64 refillPerMinute, qint64 nowUs,
                 const QString &account = {});

    /// As decided() or emptied() told it in the last minute; else empty.
    QString accountOf(const QByteArray &accountKey) const;

    struct Changes {
        QByteArrayList index; ///< score (ms), account's name as in Keys, score, …
        QHash<qint64, QByteArrayList>
            usesBySlot; ///< account's name, its uses as text, …; of all accounts: "*"
        bool hasMore = false; ///< ask for this part again
    };
    /// Changes of at most `most` accounts of one part since they were last taken; forgets who was silent for a minute.
    Changes takeChanges(int part, int most, qint64 nowMs);

    bool isEmpty() const { return m_size == 0; }
    qsizetype size() const { return m_size; }

private:
    struct SlotUse {
        qint64 slot;
        quint8 lane;
        quint8 caller;
        qint64 units;
        qint64 calls;
    };
    using SlotUses = QVarLengthArray<SlotUse, 1>;
    struct Entry {
        qint64 decidedUs = 0;
        qint64 fullAtMs = 0;
        qint64 indexedFullAtMs = 0; ///< as Redis was told …
        qint64 indexedAtMs = 0; ///< … then; 0 = never
        QString account;
        bool isNoted = false; ///< in Part::changed
        bool isAfterSlot = false; ///< in Part::afterSlot
        bool hasNewLevel = false;
        bool hasNewUses = false;
        SlotUses uses;
    };
    struct Part {
        QHash<QByteArray, Entry> accounts;
        QByteArrayList changed; ///< those that have something new, each once
        QByteArrayList afterSlot; ///< full ones, whose uses are told when the present slot is over
        qint64 slot = 0;
        qint64 tidiedMs = 0;
    };

    /// The account, noted as changed; null when there are too many.
    Entry *entryOf(const QByteArray &accountKey, const QString &account);
    static void noteThoseOfThePastSlot(Part &part, qint64 slot);
    void forgetSilent(Part &part, qint64 nowMs);
    quint8 callerIndex(const QString &caller);
    void takeFrom(const QByteArray &accountKey, Part &part, qint64 nowMs, Changes *changes);
    void takeUses(const QByteArray &field, SlotUses &uses, qint64 nowMs, Changes *changes) const;

    std::array<Part, partCount> m_parts;
    qsizetype m_size = 0;
    SlotUses m_all; ///< of all accounts
    bool m_allIsNew = false;
    QHash<QString, quint8> m_callerIndices;
    QByteArrayList m_callers; ///< percent-encoded
};

} // namespace tidekeeper::limits
