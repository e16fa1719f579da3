// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QProcess>
#include <QtCore/QStringList>
#include <QtCore/QTemporaryDir>

namespace tidekeeper::test {

/// A real redis-server of the test's own, on a Unix socket (and, when asked, a free TCP port), in a temporary
/// folder, gone with the object.
class TestRedis {
public:
    /// extra: more redis-server arguments, for example {"--appendonly", "yes"}.
    explicit TestRedis(QStringList extra = {}, bool tcp = false);
    ~TestRedis();

    bool start(); ///< waits until it answers; false after 10 s
    void stop(); ///< SIGTERM and wait
    void kill(); ///< SIGKILL and wait; start() brings it back on the same socket and data
    void pause(); ///< SIGSTOP
    void resume(); ///< SIGCONT

    QString socketPath() const;
    QString url() const; ///< unix:/…
    quint16 port() const { return m_port; }
    QString folder() const { return m_folder.path(); }
    /// redis-cli on this server; the answer without the last line feed.
    QByteArray cli(const QStringList &arguments) const;

private:
    QTemporaryDir m_folder;
    QStringList m_extra;
    quint16 m_port = 0;
    QProcess m_process;
};

} // namespace tidekeeper::test
