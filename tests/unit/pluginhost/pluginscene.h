// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginhost.h"
#include "support/fakeclock.h"

#include <QtCore/QTemporaryDir>

#include <mutex>

namespace tidekeeper::test {

/// A plugin folder of the test's own with copies of fixtures, and a host for it. A copy is a library of its own
/// for the loader, so that every scene begins with plugins that never ran.
class PluginScene {
public:
    /// Copies tests/fixtures/<name>.so into the folder; the path of the copy.
    QString put(const QString &name);
    void put(const QStringList &names);

    void start(); ///< makes the host and waits for its start
    void stop();

    pluginhost::PluginHost &host() { return *m_host; }
    void makeHost();

    /// The first record with this id; an empty one when there is none.
    pluginhost::PluginRecord record(const QString &id) const;
    QString state(const QString &id) const; ///< "running", or "failed: cycle"
    QStringList log() const; ///< "id: text" of warnings, errors and what fixtures logged

    pluginhost::HostOptions options; ///< searchPath is the folder; deadlines are short
    FakeClock clock;
    pluginhost::ServiceRegistry services;

    PluginScene();

private:
    QTemporaryDir m_folder;
    std::unique_ptr<pluginhost::PluginHost> m_host;
    mutable std::mutex m_mutex;
    QStringList m_log;
};

} // namespace tidekeeper::test
