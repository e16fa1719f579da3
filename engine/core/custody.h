// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>
#include <QtCore/QStringList>

#include <optional>

// May this engine work on this database, or is it a copy that another engine works on? Pure. Two engines on copies of one
// database would renew, stop and retire the same mailboxes behind each other's back.
namespace tidekeeper::core {

/// Written into the database by the engines that work on it.
struct CustodyRecord {
    QString
        cluster; ///< random, the same for all engines of one database; their Redis holds it too. Empty = none yet
    QStringList engines; ///< ids of those that may work
};

struct CustodyInput {
    QString engine; ///< this engine's id
    CustodyRecord record;
    bool redisIsShared = false; ///< a server of the operator's own, not the private one beside the database
    /// The cluster that Redis holds; empty = it holds none; nothing = it did not answer.
    std::optional<QString> redisCluster;
};

enum class Custody : quint8 {
    Holds, ///< known: works
    Joins, ///< works, and becomes known
    Unclear, ///< observes until Redis has answered
    Copied, ///< observes until an operator says that this is the one to work
};
Custody custodyOf(const CustodyInput &input);

/// Why the engine only observes, and what to do; empty when it works.
QString custodyText(Custody custody);

} // namespace tidekeeper::core
