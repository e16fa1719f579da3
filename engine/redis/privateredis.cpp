// SPDX-License-Identifier: Apache-2.0
#include "redis/privateredis.h"

#include "redis/callbackawaiter.h"
#include "redis/redisconnection.h"
#include "redis/serverfolder.h"
#include "redis/serverinfo.h"
#include "redis/serverprocess.h"

#include <QtCore/QDeadlineTimer>
#include <QtCore/QElapsedTimer>
#include <QtCore/QFile>
#include <QtCore/QFileInfo>
#include <QtCore/QTimer>

#include <csignal>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

constexpr int lookAgainMs = 50;
constexpr int answerTimeoutMs = 2000;
constexpr int restartMinMs = 100;
constexpr int restartMaxMs = 10'000;
constexpr int heldMs = 30'000; ///< after a life this long the delay starts anew
constexpr qint64 keptLogBytes = 1'048'576;

} // namespace

/// The public start() and stop() hold this object while its flows run; after abandon() each flow ends at its next
/// step.
class PrivateRedis::Private {
public:
    Private(PrivateRedis *redis, Options how);

    QCoro::Task<Result<>> start();
    QCoro::Task<> stop();
    void abandon();

    const Options options;
    const ServerFolder folder;
    std::unique_ptr<ServerProcess> process = std::make_unique<ServerProcess>();

    Endpoint endpoint() const { return {.transport = Endpoint::Transport::Unix, .path = folder.socket()}; }

private:
    enum class Found : quint8 { Nobody, Adopted, Replaced };

    QCoro::Task<Result<>> adoptOrStart(QDeadlineTimer deadline);
    QCoro::Task<Result<Found>> takeOver(QDeadlineTimer deadline);
    QCoro::Task<bool> isOurs();
    QCoro::Task<Result<>> serve(QDeadlineTimer deadline);
    QCoro::Task<bool> waitServing(QDeadlineTimer deadline, std::function<bool()> goesOn);
    QCoro::Task<> end(int timeoutMs);
    QCoro::Task<bool> endedWithin(int timeoutMs);

    Result<> spawn();
    QStringList arguments() const;
    void connectControl();
    void onEnded(int exitCode);
    void restart();

    PrivateRedis *m_redis;
    std::unique_ptr<RedisConnection> m_control; ///< only while starting and stopping
    bool m_isKept = false; ///< restarted when it dies
    bool m_isStopping = false;
    QTimer m_restartTimer;
    QElapsedTimer m_lived;
    int m_deaths = 0; ///< in a row, each within heldMs
    int m_lastExitCode = 0;
};

PrivateRedis::Private::Private(PrivateRedis *redis, Options how)
    : options(std::move(how)), folder(options.stateDir), m_redis(redis)
{
    m_restartTimer.setSingleShot(true);
    QObject::connect(&m_restartTimer, &QTimer::timeout, m_redis, [this] { restart(); });
    QObject::connect(process.get(), &ServerProcess::ended, m_redis,
                     [this](int exitCode) { onEnded(exitCode); });
}

void PrivateRedis::Private::abandon()
{
    m_isStopping = true;
    m_isKept = false;
    m_restartTimer.stop();
    m_control.reset();
    process.reset();
}

// ---- start ---------------------------------------------------------------------------------------------------

QCoro::Task<Result<>> PrivateRedis::Private::start()
{
    m_isStopping = false;
    const QDeadlineTimer deadline(options.startTimeoutMs);
    const Result<> started = co_await adoptOrStart(deadline);
    m_control.reset();
    m_isKept = started.has_value();
    co_return started;
}

QCoro::Task<Result<>> PrivateRedis::Private::adoptOrStart(QDeadlineTimer deadline)
{
    if (const Result<> made = folder.make(); !made)
        co_return fail(made.error());
    const Result<Found> found = co_await takeOver(deadline);
    if (!found)
        co_return fail(found.error());
    if (*found == Found::Adopted)
        co_return Result<>();

    if (QFileInfo(folder.logFile()).size() > keptLogBytes)
        QFile::remove(folder.logFile());
    if (const Result<> spawned = spawn(); !spawned)
        co_return fail(spawned.error());
    const Result<> serves = co_await serve(deadline);
    if (!serves)
        co_await end(options.stopTimeoutMs);
    co_return serves;
}

/// Adopts the server that an earlier run left behind, or ends it when it is of no use.
QCoro::Task<Result<PrivateRedis::Private::Found>> PrivateRedis::Private::takeOver(QDeadlineTimer deadline)
{
    LeftBehind left = LeftBehind::find(folder);
    if (!left.isThere())
        co_return Found::Nobody;
    connectControl();
    const std::function<bool()> isStillThere = [this, &left] {
        left = LeftBehind::find(folder);
        return left.isThere();
    };
    const bool serves = co_await waitServing(deadline, isStillThere);
    if (m_isStopping)
        co_return fail(u"redis_start_failed"_s, u"The start of the private Redis was given up."_s);
    if (!left.isThere())
        co_return Found::Nobody; // it was on its way out
    if (!serves) {
        co_return fail(
            u"redis_start_failed"_s,
            u"The redis-server that an earlier run left on %1 (process %2) does not answer. Wait for it, let "
            "it go on (kill -CONT) or end it, then start again."_s.arg(folder.socket())
                .arg(left.processId));
    }
    if (!process->adopt(left.processId)) {
        co_return fail(
            u"redis_start_failed"_s,
            u"The redis-server on %1 is a process that cannot be watched. End it, then start again."_s.arg(
                folder.socket()));
    }
    m_lived.start();
    const bool ours = co_await isOurs();
    if (ours)
        co_return Found::Adopted;
    co_await end(options.stopTimeoutMs);
    co_return Found::Replaced;
}

/// New enough, on our folder, and set as we would start it.
QCoro::Task<bool> PrivateRedis::Private::isOurs()
{
    const Result<ServerInfo> info = co_await readServerInfo(*m_control, answerTimeoutMs);
    if (!info || !info->supported() || !m_control)
        co_return false;
    const QList<QByteArray> askFolder{"CONFIG", "GET", "dir"};
    const Result<Value> dir = co_await m_control->command(askFolder, answerTimeoutMs);
    const bool isHere = dir && dir->items.size() == 2
        && QFile::decodeName(dir->items.at(1).text) == QFileInfo(folder.path()).canonicalFilePath();
    if (!isHere || !m_control)
        co_return false;
    const QList<QByteArray> configure{
        "CONFIG",           "SET",       "appendonly", "yes", "appendfsync", options.appendFsync.toLatin1(),
        "maxmemory-policy", "noeviction"};
    const Result<Value> configured = co_await m_control->command(configure, answerTimeoutMs);
    co_return configured && !configured->isError();
}

/// Waits until the new child answers, and looks whether it is new enough.
QCoro::Task<Result<>> PrivateRedis::Private::serve(QDeadlineTimer deadline)
{
    connectControl();
    const std::function<bool()> isRunning = [this] { return process && process->isRunning(); };
    const bool serves = co_await waitServing(deadline, isRunning);
    if (m_isStopping)
        co_return fail(u"redis_start_failed"_s, u"The start of the private Redis was given up."_s);
    if (!serves) {
        const QString line = folder.lastLogLine();
        co_return fail(u"redis_start_failed"_s,
                       u"%1 did not start: %2 (Log: %3)"_s.arg(
                           options.program, line.isEmpty() ? u"it says nothing"_s : line, folder.logFile()));
    }
    const Result<ServerInfo> info = co_await readServerInfo(*m_control, answerTimeoutMs);
    if (!info)
        co_return fail(info.error());
    co_return info->supported();
}

/// False when the deadline passes, when goesOn says no, or when the start is given up.
QCoro::Task<bool> PrivateRedis::Private::waitServing(QDeadlineTimer deadline, std::function<bool()> goesOn)
{
    while (m_control && !m_isStopping && !deadline.hasExpired() && goesOn()) {
        const bool isReady = co_await m_control->waitReady(lookAgainMs);
        if (isReady)
            co_return true;
    }
    co_return false;
}

void PrivateRedis::Private::connectControl()
{
    ConnectionOptions patient;
    patient.connectTimeoutMs = answerTimeoutMs;
    patient.reconnectMinMs = patient.reconnectMaxMs = patient.breakerProbeIntervalMs = lookAgainMs;
    m_control = std::make_unique<RedisConnection>(endpoint(), patient);
    m_control->open();
}

Result<> PrivateRedis::Private::spawn()
{
    m_lived.start();
    return process->start(options.program, arguments(), folder.logFile());
}

QStringList PrivateRedis::Private::arguments() const
{
    return QStringList{u"--port"_s,
                       u"0"_s,
                       u"--unixsocket"_s,
                       folder.socket(),
                       u"--unixsocketperm"_s,
                       u"700"_s,
                       u"--dir"_s,
                       folder.path(),
                       u"--pidfile"_s,
                       folder.pidFile(),
                       u"--appendonly"_s,
                       u"yes"_s,
                       u"--appendfsync"_s,
                       options.appendFsync,
                       u"--save"_s,
                       u""_s,
                       u"--maxmemory-policy"_s,
                       u"noeviction"_s,
                       u"--daemonize"_s,
                       u"no"_s}
    + options.extraArguments;
}

// ---- death and stop ------------------------------------------------------------------------------------------

void PrivateRedis::Private::onEnded(int exitCode)
{
    if (!m_isKept)
        return;
    m_lastExitCode = exitCode;
    m_deaths = m_lived.elapsed() >= heldMs ? 0 : m_deaths + 1;
    const int doublings = std::min(m_deaths, 10);
    m_restartTimer.start(std::min(restartMinMs << doublings, restartMaxMs));
}

void PrivateRedis::Private::restart()
{
    if (spawn())
        Q_EMIT m_redis->restarted(m_lastExitCode);
    else
        onEnded(m_lastExitCode); // the program is missing for now
}

QCoro::Task<> PrivateRedis::Private::stop()
{
    m_isKept = false;
    m_isStopping = true;
    m_restartTimer.stop();
    co_await end(options.stopTimeoutMs);
}

/// SHUTDOWN, then SIGTERM, then SIGKILL.
QCoro::Task<> PrivateRedis::Private::end(int timeoutMs)
{
    const int stepMs = timeoutMs / 4;
    if (process && process->isRunning()) {
        connectControl();
        const bool answers = co_await m_control->waitReady(stepMs);
        if (answers && m_control)
            m_control->send(
                {"SHUTDOWN"}, [](const Result<Value> &) {}, answerTimeoutMs);
        const bool hasEnded = co_await endedWithin(answers ? stepMs : 0);
        for (const int last : {SIGTERM, SIGKILL}) {
            if (hasEnded || !process || !process->isRunning())
                break;
            process->signal(last);
            co_await endedWithin(stepMs);
        }
    }
    m_control.reset();
}

QCoro::Task<bool> PrivateRedis::Private::endedWithin(int timeoutMs)
{
    if (!process)
        co_return true;
    auto ended = awaitCallback<bool>(
        [&](std::function<void(bool)> callback) { process->waitEnded(timeoutMs, std::move(callback)); });
    const bool hasEnded = co_await ended;
    co_return hasEnded;
}

// ---- the public face -----------------------------------------------------------------------------------------

PrivateRedis::PrivateRedis(Options options, QObject *parent)
    : QObject(parent), d(std::make_shared<Private>(this, std::move(options)))
{ }

PrivateRedis::~PrivateRedis()
{
    d->abandon();
}

QCoro::Task<Result<Endpoint>> PrivateRedis::start()
{
    const std::shared_ptr<Private> self = d;
    const Result<> started = co_await self->start();
    if (!started)
        co_return fail(started.error());
    co_return self->endpoint();
}

QCoro::Task<> PrivateRedis::stop()
{
    const std::shared_ptr<Private> self = d;
    co_await self->stop();
}

QString PrivateRedis::socketPath() const
{
    return d->folder.socket();
}

qint64 PrivateRedis::processId() const
{
    return d->process->processId();
}

} // namespace tidekeeper::redis
