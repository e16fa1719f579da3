// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/project.h"
#include "limits/serverclock.h"
#include "redis/functionlibrary.h"

#include <tidekeeper/services.h>

#include <QtCore/QMap>
#include <QtCore/QTimer>

#include <memory>

namespace tidekeeper::limits {

/// The projects of all limiters, whose policies are kept published in Redis: put back whenever a connection begins
/// and published anew when the day of a day budget has ended. Thread of the connection.
class Projects final : public QObject {
    Q_OBJECT

public:
    Projects(redis::RedisConnection &connection, redis::FunctionLibrary &library, const Clock &clock,
             ServerClock &serverClock);

    /// The project with this policy from now on, made when it is new; only then `names` counts.
    std::shared_ptr<Project> take(const QString &limiter, const QString &name, const Policy &policy,
                                  const AccountNames &names = {});

    /// Null when there is none; an empty name means "default".
    std::shared_ptr<Project> find(const QString &limiter, const QString &name) const;
    /// The projects of a limiter by name; empty when there is no such limiter.
    QMap<QString, std::shared_ptr<Project>> of(const QString &limiter) const { return m_all.value(limiter); }
    /// Those of all limiters.
    QList<std::shared_ptr<Project>> all() const;
    /// The failure unknown_project, when find() has none.
    static Error unknown();

    /// Puts the project's policy into Redis, also over a key of its name that is something else. Ends at endMs of the
    /// monotonic clock. The answer is that of tidekeeper_publish_v1.
    QCoro::Task<Result<redis::Value>> publish(std::shared_ptr<Project> project, qint64 endMs);

    /// Publishes all when a day has ended since they were last published together, or when Redis refused one. A timer
    /// calls it.
    void publishWhatIsDue();

Q_SIGNALS:
    void added(const QString &limiter, const QString &project); ///< by take()
    /// The policy was not in Redis, or was another one: what else is kept in it has to be written again. Comes before
    /// publish() ends, so that calls made by listeners go ahead of those that wait for it.
    void written(const QString &limiter, const QString &project);

private:
    void publishAll();
    QCoro::Task<Result<redis::Value>> publishOnce(std::shared_ptr<Project> project, qint64 endMs);
    QCoro::Task<> removeForeignPolicy(QByteArray key, qint64 endMs);
    int leftMs(qint64 endMs) const;

    redis::RedisConnection &m_connection;
    redis::FunctionLibrary &m_library;
    const Clock &m_clock;
    ServerClock &m_serverClock;
    QMap<QString, QMap<QString, std::shared_ptr<Project>>> m_all; ///< by limiter, by name
    QTimer m_checkTimer;
    qint64 m_publishedAt = 0; ///< epoch ms, of the last publication of all
    bool m_isOneRefused = false; ///< by a Redis that took no writes
};

} // namespace tidekeeper::limits
