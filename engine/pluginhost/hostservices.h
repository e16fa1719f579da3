// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginrecord.h"
#include "pluginhost/serviceregistry.h"

#include <tidekeeper/plugin.h>

#include <functional>
#include <mutex>

namespace tidekeeper::pluginhost {

/// Writes one log line of a plugin; an empty id is the host itself. level: 0 debug … 3 error. [any]
using LogFunction = std::function<void(int level, const QString &pluginId, const QString &text)>;

/// What one plugin sees of the engine. A child of the plugin's root object, which is never deleted: a thread that
/// the plugin failed to stop may still hold it when the engine is gone.
class HostServices final : public QObject, public Host {
public:
    HostServices(const PluginRecord &record, const ServiceRegistry &services, QJsonObject projects,
                 LogFunction log, QObject *root);

    void *serviceByIid(const char *iid) override;
    QJsonObject configuration() const override { return m_configuration; }
    QJsonObject projects() const override { return m_projects; }
    void log(int level, const QString &text) override;

    /// The engine goes: log lines are dropped from now on. [main]
    void detach();

private:
    const QString m_id;
    const QJsonObject m_configuration;
    const QJsonObject m_projects;
    QMap<QByteArray, void *> m_services; ///< those under "Needs"
    std::mutex m_mutex;
    LogFunction m_log;
};

} // namespace tidekeeper::pluginhost
