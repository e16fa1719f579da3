// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace tidekeeper::redis {

/// The folder <state>/redis of the private server, for its owner alone, and the place of its socket: inside, or, when
/// that path is too long for a socket, in a folder of the runtime directory (XDG_RUNTIME_DIR, otherwise /tmp).
class ServerFolder {
public:
    explicit ServerFolder(const QString &stateDir);

    /// Makes what is missing. Failure: redis_start_failed with the folder in question.
    Result<> make() const;

    const QString &path() const { return m_path; }
    const QString &socket() const { return m_socket; }
    QString pidFile() const { return m_path + QStringLiteral("/redis.pid"); }
    QString logFile() const { return m_path + QStringLiteral("/redis.log"); }
    QString lastLogLine() const;

private:
    QString m_path;
    QString m_socket;
};

/// A server that an earlier run left in the folder.
struct LeftBehind {
    qint64 processId = 0; ///< 0: there is none, or it is none of our processes
    bool listens = false; ///< on the socket

    bool isThere() const { return listens || processId > 0; }
    static LeftBehind find(const ServerFolder &folder);
};

} // namespace tidekeeper::redis
