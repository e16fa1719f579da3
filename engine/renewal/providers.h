// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pendingreply.h"

#include <tidekeeper/plugin.h>

#include <QtCore/QHash>
#include <QtCore/QStringList>

namespace tidekeeper::renewal {

/// A running SubscriptionProvider and what it said of itself.
struct Provider {
    SubscriptionProvider *plugin = nullptr;
    QString name; ///< "gmail"
    qint64 lifetimeMs = 0;
    qint64 windowMs = 0;
    QString limiter; ///< name of the limiter to ask; empty = none
    QString method; ///< what renewing costs, as the limiter's cost table names it
    QString removeMethod;
    QStringList cursorKeys; ///< "cursor_keys": data that consumers move, never overwritten by a renewal
    int batchSize = 500; ///< "batch_size": most that one scan takes
    qint64 scanIntervalMs = 60'000; ///< of "cron"; on the average
    int consumers = 2; ///< "consumers": renewals at the same time in one engine
    qint64 costUnits = 0; ///< "cost": units of quota for one renewal; 0 = free
    bool observe = false; ///< "mode": "observe": show what would be renewed and call nothing
    pluginhost::CallOptions callOptions;
};

/// The providers by name. They have to live as long as this, as plugins do. Main thread.
class Providers {
public:
    /// False when the name is empty or taken, or lifetime or window is missing.
    bool add(SubscriptionProvider *plugin, pluginhost::CallOptions callOptions = {});

    /// All only observe, whatever their configuration says, until the reason is empty.
    void holdAll(const QString &reason);
    const QString &heldBecause() const { return m_heldBecause; }

    const Provider *find(const QString &name) const;
    const QHash<QString, Provider> &all() const { return m_providers; }

private:
    QHash<QString, Provider> m_providers;
    QString m_heldBecause;
};

} // namespace tidekeeper::renewal
