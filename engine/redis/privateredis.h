// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "redis/redisconnection.h"

#include <QCoro/QCoroTask>
#include <QtCore/QObject>

#include <memory>

namespace tidekeeper::redis {

/// The embedded redis-server: a child on <state>/redis/redis.sock (0700, append-only file, no other socket),
/// restarted when it dies, waited for while it is silent, stopped with the engine. A server left behind by an
/// engine that was killed is adopted, or replaced when it is not ours or too old. Main thread.
class PrivateRedis : public QObject {
    Q_OBJECT

public:
    struct Options {
        QString stateDir = {}; ///< redis/ is made inside, 0700
        QString program = QStringLiteral("redis-server");
        QString appendFsync = QStringLiteral("everysec");
        int startTimeoutMs = 10'000;
        int stopTimeoutMs = 5'000;
        QStringList extraArguments = {}; ///< for tests
    };

    explicit PrivateRedis(Options options, QObject *parent = nullptr);
    ~PrivateRedis() override; ///< kills a child that is still there

    /// Starts (or adopts) and waits until it answers PING. Failures: redis_missing (program), redis_too_old,
    /// redis_start_failed (with the last line of its log).
    QCoro::Task<Result<Endpoint>> start();
    /// SHUTDOWN, then SIGTERM, then SIGKILL, within stopTimeoutMs.
    QCoro::Task<> stop();

    QString socketPath() const; ///< falls back to the runtime folder when the path is too long for a socket
    qint64 processId() const;

Q_SIGNALS:
    void restarted(int exitCode);

private:
    class Private;
    std::shared_ptr<Private> d; ///< shared with the flows under way
};

} // namespace tidekeeper::redis
