// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pendingreply.h"
#include "pluginhost/pluginrecord.h"
#include "pluginhost/serviceregistry.h"

#include <QtCore/QMap>
#include <QtCore/QObject>

#include <vector>

namespace tidekeeper::pluginhost {

/// Writes one log line of a plugin; an empty id is the host itself. level: 0 debug … 3 error. [any]
using LogFunction = std::function<void(int level, const QString &pluginId, const QString &text)>;

struct HostOptions {
    QStringList searchPath; ///< folders, the first one wins when an id occurs twice
    QMap<QString, QJsonObject>
        sections; ///< configuration by plugin id, as written; "enabled" is the host's own key
    QJsonObject projects; ///< what Host::projects() hands out
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
/// plugin's record. Nothing is ever unloaded. Outlives its tasks. Main thread.
class PluginHost : public QObject {
    Q_OBJECT

public:
    PluginHost(const ServiceRegistry &services, HostOptions options, LogFunction log,
               QObject *parent = nullptr);
    ~PluginHost() override;

    /// Scans, resolves, loads and starts; ends when every plugin runs, failed or timed out. Once.
    QCoro::Task<> start();
    /// Stops what runs, dependants first; also ends a start that is under way.
    QCoro::Task<> stop();

    /// In the order in which they were found.
    std::vector<PluginRecord> records() const;

    template<typename T>
    QList<Implementation<T>> implementations() const
    {
        QList<Implementation<T>> found;
        for (const Running &plugin : running()) {
            if (T *object = qobject_cast<T *>(plugin.root))
                found.append({plugin.id, object, plugin.lateAnswers});
        }
        return found;
    }

Q_SIGNALS:
    void stateChanged(const QString &pluginId);

private:
    struct Running {
        QString id;
        QObject *root;
        LateAnswers lateAnswers;
    };
    QList<Running> running() const;

    class Private;
    std::unique_ptr<Private> d;
};

} // namespace tidekeeper::pluginhost
