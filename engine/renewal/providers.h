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
    bool observe = false; ///< "mode": "observe": show what would be renewed and call nothing
    pluginhost::CallOptions callOptions;
};

/// The providers by name. They have to live as long as this, as plugins do. Main thread.
class Providers {
public:
    /// False when the name is empty or taken, or lifetime or window is missing.
    bool add(SubscriptionProvider *plugin, pluginhost::CallOptions callOptions = {});

    const Provider *find(const QString &name) const;
    const QHash<QString, Provider> &all() const { return m_providers; }

private:
    QHash<QString, Provider> m_providers;
};

} // namespace tidekeeper::renewal
