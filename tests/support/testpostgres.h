// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QProcess>
#include <QtCore/QTemporaryDir>

#include <optional>

namespace tidekeeper::test {

/// A real PostgreSQL server of the test's own, on a Unix socket alone, in a temporary folder, gone with the object
/// and with the test that crashes. Started by root it runs as the user postgres or nobody, for it refuses root.
class TestPostgres {
public:
    TestPostgres();
    ~TestPostgres();

    /// Why there is none on this machine; nothing when its programs are found.
    static std::optional<QString> missing();

    bool start(); ///< makes its files when there are none; waits until it answers; false after 20 s
    void stop(); ///< every connection is cut; start() brings it back on the same socket and data
    void kill(); ///< SIGKILL to all of it, as the kernel does when memory is out
    void pause(); ///< SIGSTOP to all of it: connections stay open and nobody answers
    void resume(); ///< SIGCONT

    /// For "database.url" and --database.
    QString url() const;
    /// As url(), with a new empty schema of its own: quicker to make than a database. Empty when that fails.
    QString freshUrl();
    /// psql on this server, outside all schemas of freshUrl(); the answer without the last line feed.
    QByteArray sql(const QString &statement) const;
    QByteArray log() const;

private:
    bool makeFiles();
    QList<qint64> processes() const;
    void signal(int number) const;

    QTemporaryDir m_folder;
    QProcess m_server;
    int m_schemas = 0;
};

} // namespace tidekeeper::test
