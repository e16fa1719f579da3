// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/projects.h"

namespace tidekeeper::limits {

/// Tells Redis, once it is back, what this engine granted without it: an account's part goes out ahead of the account's
/// next request on the same connection, the rest a few at a time. Thread of the connection.
class Settlement final : public QObject {
    Q_OBJECT

public:
    Settlement(redis::RedisConnection &connection, redis::FunctionLibrary &library, const Projects &projects,
               const Clock &clock);

    /// To be called before a request for this account is sent; cheap when nothing is owed.
    void settle(const std::shared_ptr<Project> &project, const QByteArray &accountKey)
    {
        if (project->local.owes(accountKey) && isOpen())
            send(project, accountKey);
    }

    /// Redis has decided for this project: it can be told of all the others too.
    void goOn(const Project &project)
    {
        if (!project.local.anyDebtor().isEmpty() && !m_next.isActive())
            m_next.start();
    }

private:
    bool isOpen() const;
    void send(const std::shared_ptr<Project> &project, const QByteArray &accountKey);
    void sendSome();

    redis::RedisConnection &m_connection;
    redis::FunctionLibrary &m_library;
    const Projects &m_projects;
    const Clock &m_clock;
    QTimer m_next;
};

} // namespace tidekeeper::limits
