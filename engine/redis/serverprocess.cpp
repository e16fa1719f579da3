// SPDX-License-Identifier: Apache-2.0
#include "redis/serverprocess.h"

#include <QtCore/QProcess>
#include <QtCore/QSocketNotifier>
#include <QtCore/QTimer>

#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

constexpr int lastWaitMs = 1000;

/// Runs in the child between fork and exec: system calls only.
void leaveTheEngineBehind()
{
    // A session of its own: Ctrl-C at the engine must not reach the server before the engine has drained.
    ::setsid();
    // The engine may block signals that it reads from a descriptor; the server needs them.
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // Sockets and files of the engine must not stay open in a server that outlives it.
    constexpr unsigned closeOnExec = 1U << 2; // CLOSE_RANGE_CLOEXEC
    ::syscall(SYS_close_range, 3U, ~0U, closeOnExec);
}

} // namespace

ServerProcess::ServerProcess() = default;

ServerProcess::~ServerProcess()
{
    for (const Waiter &waiter : std::exchange(m_waiters, {}))
        (*waiter)(false);
    if (m_child) {
        m_child->disconnect(this);
        m_child->terminate();
        if (!m_child->waitForFinished(lastWaitMs)) {
            m_child->kill();
            m_child->waitForFinished(lastWaitMs);
        }
    } else if (m_adoptedFd >= 0) {
        signal(SIGTERM);
        pollfd end{m_adoptedFd, POLLIN, 0};
        if (::poll(&end, 1, lastWaitMs) == 0)
            signal(SIGKILL);
        m_adoptedEnd.reset();
        ::close(m_adoptedFd);
    }
}

Result<> ServerProcess::start(const QString &program, const QStringList &arguments, const QString &logFile)
{
    Q_ASSERT(!isRunning());
    m_child = std::make_unique<QProcess>();
    m_child->setStandardInputFile(QProcess::nullDevice());
    m_child->setProcessChannelMode(QProcess::MergedChannels);
    m_child->setStandardOutputFile(logFile, QIODevice::Append);
    m_child->setChildProcessModifier(&leaveTheEngineBehind);
    m_child->start(program, arguments);
    if (!m_child->waitForStarted()) {
        const QString reason = m_child->errorString();
        m_child.reset();
        return fail(
            u"redis_missing"_s,
            u"The program %1 cannot be started (%2). Install it (Debian: apt install redis-server), or set "
            "redis.url to a Redis of your own."_s.arg(program, reason),
            {{u"program"_s, program}});
    }
    connect(m_child.get(), &QProcess::finished, this, [this](int exitCode, QProcess::ExitStatus status) {
        onEnded(status == QProcess::NormalExit ? exitCode : -1);
    });
    return {};
}

bool ServerProcess::adopt(qint64 processId)
{
    Q_ASSERT(!isRunning());
    if (processId <= 0)
        return false;
    m_adoptedFd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(processId), 0));
    if (m_adoptedFd < 0)
        return false;
    m_adoptedId = processId;
    m_adoptedEnd = std::make_unique<QSocketNotifier>(m_adoptedFd, QSocketNotifier::Read);
    connect(m_adoptedEnd.get(), &QSocketNotifier::activated, this, [this] { onEnded(-1); });
    return true;
}

bool ServerProcess::isRunning() const
{
    return m_child || m_adoptedFd >= 0;
}

qint64 ServerProcess::processId() const
{
    return m_child ? m_child->processId() : m_adoptedId;
}

void ServerProcess::signal(int signalNumber)
{
    if (m_child && m_child->processId() > 0)
        ::kill(static_cast<pid_t>(m_child->processId()), signalNumber);
    else if (m_adoptedFd >= 0)
        ::syscall(SYS_pidfd_send_signal, m_adoptedFd, signalNumber, nullptr, 0);
}

void ServerProcess::waitEnded(int timeoutMs, std::function<void(bool)> callback)
{
    auto waiter = std::make_shared<std::function<void(bool)>>(std::move(callback));
    m_waiters.push_back(waiter);
    QTimer::singleShot(isRunning() ? timeoutMs : 0, this, [this, waiter] {
        if (std::erase(m_waiters, waiter) > 0)
            (*waiter)(!isRunning());
    });
}

void ServerProcess::onEnded(int exitCode)
{
    if (m_child)
        m_child.release()->deleteLater(); // this runs inside its signal
    if (m_adoptedFd >= 0) {
        m_adoptedEnd->setEnabled(false);
        m_adoptedEnd.release()->deleteLater();
        ::close(std::exchange(m_adoptedFd, -1));
        m_adoptedId = 0;
    }
    const std::vector<Waiter> waiters = std::exchange(m_waiters, {});
    Q_EMIT ended(exitCode);
    for (const Waiter &waiter : waiters)
        (*waiter)(true);
}

} // namespace tidekeeper::redis
