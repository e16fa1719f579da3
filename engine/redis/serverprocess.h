// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QObject>

#include <functional>
#include <memory>

class QProcess;
class QSocketNotifier;

namespace tidekeeper::redis {

/// The process of the private server: a child, or one that an earlier run started and this one adopted.
/// One at a time.
class ServerProcess : public QObject {
    Q_OBJECT

public:
    ServerProcess();
    ~ServerProcess() override; ///< ends it when it still runs: SIGTERM, after a second SIGKILL

    /// Failure: redis_missing.
    Result<> start(const QString &program, const QStringList &arguments, const QString &logFile);
    /// False when it cannot be watched: it is gone, or the kernel is older than 5.3.
    bool adopt(qint64 processId);

    bool isRunning() const;
    qint64 processId() const; ///< 0 when none runs
    void signal(int signalNumber);
    /// Calls back, never from inside, with whether it ended in time; with false when this object goes.
    void waitEnded(int timeoutMs, std::function<void(bool)> callback);

Q_SIGNALS:
    void ended(int exitCode); ///< −1 when it was a signal, or is not known

private:
    void onEnded(int exitCode);

    using Waiter = std::shared_ptr<std::function<void(bool)>>;

    std::unique_ptr<QProcess> m_child;
    std::unique_ptr<QSocketNotifier> m_adoptedEnd;
    int m_adoptedFd = -1; ///< a pidfd: it cannot come to mean another process
    qint64 m_adoptedId = 0;
    std::vector<Waiter> m_waiters;
};

} // namespace tidekeeper::redis
