// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/hostservices.h"
#include "pluginhost/pendingreply.h"
#include "pluginhost/pluginrecord.h"
#include "pluginhost/resolver.h"
#include "pluginhost/serviceregistry.h"

#include <QtCore/QMap>
#include <QtCore/QObject>

#include <vector>

namespace tidekeeper::pluginhost {

/// A plugin that is initialized and about to be started.
struct StartingPlugin {
    PluginRecord record;
    QObject *root = nullptr; ///< valid until the process ends
    LateAnswers lateAnswers; ///< for CallOptions of calls to it
};

struct HostOptions {
    QStringList searchPath; ///< folders; the first one wins when an id occurs twice
    QMap<QString, QJsonObject> sections; ///< by plugin id, as written; "enabled" is the host's own key
    QJsonObject projects; ///< what Host::projects() hands out
    std::function<QCoro::Task<>(StartingPlugin)> beforeStart; ///< awaited before each start(); may be empty
    int startDeadlineMs = 10'000; ///< per plugin
    int stopDeadlineMs = 5'000; ///< per plugin
    int stopAllDeadlineMs = 10'000; ///< for all of them together
};

/// A running plugin that implements T.
template<typename T>
struct Implementation {
    QString pluginId;
    T *object = nullptr; ///< valid until the process ends
    LateAnswers lateAnswers; ///< for CallOptions of calls to it
};

/// Finds, checks, loads, starts and stops the plugins. No plugin can make it fail: whatever goes wrong is in that
/// plugin's record. Nothing is ever unloaded. Must outlive its tasks. Main thread.
class PluginHost : public QObject {
    Q_OBJECT

public:
    PluginHost(const ServiceRegistry &services, HostOptions options, LogFunction log,
               QObject *parent = nullptr);
    ~PluginHost() override;

    /// Scans, resolves, loads and starts; ends when every plugin runs or has failed. Once.
    QCoro::Task<> start();
    /// Stops what runs, dependants first; a start that is under way is given up, one to come does nothing. Once.
    QCoro::Task<> stop();

    /// In the order in which they were found.
    std::vector<PluginRecord> records() const;

    /// In the order in which they were found.
    template<typename T>
    QList<Implementation<T>> implementations() const
    {
        QList<Implementation<T>> found;
        for (const Entry &entry : m_entries) {
            T *object = entry.isRunning() ? qobject_cast<T *>(entry.root) : nullptr;
            if (object)
                found.append({entry.record.metadata.id, object, entry.lateAnswers});
        }
        return found;
    }

Q_SIGNALS:
    void stateChanged(const QString &pluginId);
    void startEnded();

private:
    /// One plugin file, by the same index as in m_waves.
    struct Entry {
        PluginRecord record;
        QObject *root = nullptr;
        Plugin *plugin = nullptr;
        HostServices *host = nullptr;
        LateAnswers lateAnswers = std::make_shared<std::atomic<qint64>>(0);
        bool mustStop = false; ///< start() was called and did not report a failure

        bool isRunning() const { return record.state == PluginState::Running; }
    };

    void find();
    void load(Entry &entry);
    void initialize(Entry &entry);
    QCoro::Task<> startWave(std::vector<std::size_t> wave);
    QCoro::Task<> startOne(std::size_t index);
    QCoro::Task<> stopOne(std::size_t index, int deadlineMs);

    bool mayGoOn(Entry &entry);
    void enter(Entry &entry, PluginState state);
    void failed(Entry &entry);

    const ServiceRegistry &m_services;
    const HostOptions m_options;
    const LogFunction m_log;
    std::vector<Entry> m_entries;
    Waves m_waves;
    std::stop_source m_stop; ///< gives up the start that is under way
    bool m_isStarting = false;
};

} // namespace tidekeeper::pluginhost
