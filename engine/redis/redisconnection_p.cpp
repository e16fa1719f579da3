// SPDX-License-Identifier: Apache-2.0
#include "redis/redisconnection_p.h"

#include "redis/greeting.h"

#include <QtCore/QAbstractEventDispatcher>
#include <QtCore/QPointer>
#include <QtCore/QRandomGenerator>

#include <chrono>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

qint64 monotonicUs()
{
    using namespace std::chrono;
    return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

/// ± a quarter, so that many engines do not come back at the same instant.
int jittered(int ms)
{
    return ms * 3 / 4 + static_cast<int>(QRandomGenerator::global()->bounded(ms / 2 + 1));
}

} // namespace

RedisConnection::Private::Private(RedisConnection *connection, Endpoint where, ConnectionOptions how)
    : q(connection), endpoint(std::move(where)), options(std::move(how)), m_retryTimer(connection),
      m_connectTimer(connection), m_deadlineTimer(connection)
{
    for (QTimer *timer : {&m_retryTimer, &m_connectTimer, &m_deadlineTimer}) {
        timer->setSingleShot(true);
        timer->setTimerType(Qt::PreciseTimer);
    }
    QObject::connect(&m_retryTimer, &QTimer::timeout, q, [this] { retry(); });
    QObject::connect(&m_connectTimer, &QTimer::timeout, q,
                     [this] { drop(u"no connection within %1 ms"_s.arg(options.connectTimeoutMs)); });
    QObject::connect(&m_deadlineTimer, &QTimer::timeout, q, [this] { expireCommands(); });
}

// ---- the connection ------------------------------------------------------------------------------------------

void RedisConnection::Private::open()
{
    if (state != State::Closed)
        return;
    state = State::Waiting;
    m_retryTimer.start(0);
}

void RedisConnection::Private::close()
{
    if (state == State::Closed)
        return;
    disconnectNow(u"it was closed here"_s);
    m_retryTimer.stop();
    state = State::Closed;
    m_attempts = 0;
    closeBreaker();
}

void RedisConnection::Private::shutDown()
{
    disconnectNow(u"it was closed here"_s);
    state = State::Closed;
    m_isShutDown = true;
    runRefusals();
    for (const Waiter &waiter : std::exchange(m_waiters, {}))
        (*waiter)(false);
}

void RedisConnection::Private::retry()
{
    if (state == State::Waiting)
        connectNow();
    else if (state == State::Ready && isBreakerOpen)
        probe();
}

void RedisConnection::Private::connectNow()
{
    state = State::Connecting;
    const quint64 generation = ++m_generation;
    m_transport = std::make_unique<Transport>(endpoint);
    const auto isCurrent = [this, generation] { return generation == m_generation && m_transport; };
    QObject::connect(
        m_transport.get(), &Transport::connected, q,
        [this, isCurrent] {
            if (isCurrent())
                greet();
        },
        Qt::QueuedConnection);
    QObject::connect(
        m_transport.get(), &Transport::dataArrived, q,
        [this, isCurrent] {
            if (isCurrent())
                takeReplies();
        },
        Qt::QueuedConnection);
    QObject::connect(
        m_transport.get(), &Transport::failed, q,
        [this, isCurrent](const QString &reason) {
            if (isCurrent())
                drop(reason);
        },
        Qt::QueuedConnection);
    m_connectTimer.start(options.connectTimeoutMs);
    m_transport->open();
}

void RedisConnection::Private::greet()
{
    state = State::Greeting;
    // No deadlines: the connect timer covers the greeting.
    for (const QList<QByteArray> &command : greetingCommands(endpoint, options.clientName)) {
        enqueue(
            command,
            [this, command](Result<Value> reply) {
                if (reply)
                    judgeGreeting(command, *reply);
            },
            PendingCommands::never);
    }
}

void RedisConnection::Private::judgeGreeting(const QList<QByteArray> &command, const Value &reply)
{
    const QString objection = greetingObjection(command, reply);
    if (!objection.isEmpty())
        drop(objection);
    else if (m_pending.isEmpty())
        becomeReady();
}

void RedisConnection::Private::becomeReady()
{
    m_connectTimer.stop();
    state = State::Ready;
    m_readyAtUs = monotonicUs();
    m_failures = 0;
    lastError.clear();
    const QPointer<RedisConnection> alive(q);
    closeBreaker();
    if (!alive || state != State::Ready)
        return;
    Q_EMIT q->ready();
    if (!alive)
        return;
    for (const Waiter &waiter : std::exchange(m_waiters, {}))
        (*waiter)(true);
}

void RedisConnection::Private::disconnectNow(const QString &reason)
{
    m_transport.reset();
    m_reader.reset();
    m_out.clear();
    m_connectTimer.stop();
    m_deadlineTimer.stop();
    m_armedDeadlineUs = PendingCommands::never;
    for (Callback &callback : m_pending.takeAll())
        refuse(std::move(callback), closedError(reason));
}

void RedisConnection::Private::drop(const QString &reason, std::optional<int> retryInMs)
{
    const bool wasReady = state == State::Ready;
    disconnectNow(reason);
    state = State::Waiting;
    lastError = reason;
    if (wasReady && monotonicUs() - m_readyAtUs > options.reconnectMaxMs * 1000LL)
        m_attempts = 0;
    const bool hasOpened = countFailures(1);
    m_retryTimer.start(retryInMs.value_or(retryDelayMs()));

    const QPointer<RedisConnection> alive(q);
    if (hasOpened)
        Q_EMIT q->breakerChanged(true);
    if (alive && wasReady)
        Q_EMIT q->lost(reason);
}

int RedisConnection::Private::retryDelayMs()
{
    if (isBreakerOpen)
        return jittered(options.breakerProbeIntervalMs);
    const int doublings = std::min(m_attempts++, 20);
    const qint64 delay =
        std::min<qint64>(qint64(options.reconnectMinMs) << doublings, options.reconnectMaxMs);
    return jittered(static_cast<int>(delay));
}

void RedisConnection::Private::waitReady(int timeoutMs, std::function<void(bool)> callback)
{
    auto waiter = std::make_shared<std::function<void(bool)>>(std::move(callback));
    m_waiters.push_back(waiter);
    QTimer::singleShot(timeoutMs, q, [this, waiter] {
        if (std::erase(m_waiters, waiter) > 0)
            (*waiter)(false);
    });
}

// ---- commands and replies ------------------------------------------------------------------------------------

void RedisConnection::Private::send(const QList<QByteArray> &arguments, Callback callback, int timeoutMs)
{
    Q_ASSERT(!arguments.isEmpty());
    if (state != State::Ready || isBreakerOpen)
        return refuse(std::move(callback), unavailable());
    enqueue(arguments, std::move(callback), (timeoutMs > 0 ? timeoutMs : options.commandTimeoutMs) * 1000LL);
}

void RedisConnection::Private::enqueue(const QList<QByteArray> &arguments, Callback callback,
                                       qint64 timeoutUs)
{
    appendCommand(m_out, arguments);
    const qint64 nowUs = monotonicUs();
    const qint64 deadlineUs = timeoutUs == PendingCommands::never ? timeoutUs : nowUs + timeoutUs;
    m_pending.push({std::move(callback), nowUs, deadlineUs});
    if (deadlineUs < m_armedDeadlineUs)
        armDeadline(deadlineUs);
    if (!std::exchange(m_isWriteScheduled, true))
        QMetaObject::invokeMethod(
            q, [this] { writeOut(); }, Qt::QueuedConnection);
}

void RedisConnection::Private::writeOut()
{
    m_isWriteScheduled = false;
    if (!m_transport || m_out.isEmpty())
        return;
    m_transport->write(m_out);
    m_out.resize(0);
}

void RedisConnection::Private::takeReplies()
{
    const QPointer<RedisConnection> alive(q);
    const quint64 generation = m_generation;
    const qint64 nowUs = monotonicUs();
    if (m_transport->readInto(m_reader))
        m_heardAtUs = nowUs;
    while (alive && generation == m_generation && m_transport) {
        Value value;
        switch (m_reader.next(value)) {
        case ReplyReader::Next::NeedsMore:
            return;
        case ReplyReader::Next::Broken:
            return drop(u"the server does not speak the Redis protocol (%1)"_s.arg(m_reader.problem()));
        case ReplyReader::Next::Complete:
            if (m_pending.isEmpty())
                return drop(u"the server sent a reply that nobody asked for"_s);
            answer(m_pending.takeFirst(), std::move(value), nowUs);
        }
    }
}

void RedisConnection::Private::answer(PendingCommands::Command command, Value value, qint64 nowUs)
{
    if (command.isExpired)
        return;
    if (state == State::Ready) {
        lastLatencyUs = nowUs - command.sentUs;
        m_failures = 0;
        const QPointer<RedisConnection> alive(q);
        closeBreaker();
        if (!alive)
            return command.callback(std::move(value));
    }
    command.callback(std::move(value));
}

void RedisConnection::Private::armDeadline(qint64 deadlineUs)
{
    m_armedDeadlineUs = deadlineUs;
    if (deadlineUs == PendingCommands::never)
        return m_deadlineTimer.stop();
    const qint64 waitMs = (deadlineUs - monotonicUs() + 999) / 1000;
    m_deadlineTimer.start(static_cast<int>(std::clamp<qint64>(waitMs, 0, std::numeric_limits<int>::max())));
}

void RedisConnection::Private::expireCommands()
{
    const QPointer<RedisConnection> alive(q);
    if (m_transport && m_pending.earliestDeadlineUs() <= monotonicUs()) {
        // Replies that arrived while this thread was busy are not late.
        m_transport->poll();
        takeReplies();
        if (!alive)
            return;
    }
    std::vector<Callback> expired = m_pending.expire(monotonicUs());
    armDeadline(m_pending.earliestDeadlineUs());
    if (expired.empty())
        return;
    const Error error{
        u"redis_timeout"_s,
        u"Redis at %1 did not answer in time; the command may have been executed."_s.arg(endpoint.display()),
        {}};
    const bool hasOpened = countFailures(static_cast<int>(expired.size()));
    if (hasOpened) {
        lastError = u"the server does not answer"_s;
        m_retryTimer.start(jittered(options.breakerProbeIntervalMs));
        Q_EMIT q->breakerChanged(true);
    }
    for (Callback &callback : expired)
        callback(fail(error));
}

// ---- the breaker ---------------------------------------------------------------------------------------------

bool RedisConnection::Private::countFailures(int count)
{
    m_failures = std::min(m_failures + count, options.breakerFailures);
    return m_failures >= options.breakerFailures && !std::exchange(isBreakerOpen, true);
}

void RedisConnection::Private::closeBreaker()
{
    m_failures = 0;
    if (!std::exchange(isBreakerOpen, false))
        return;
    lastError.clear();
    if (state == State::Ready)
        m_retryTimer.stop();
    Q_EMIT q->breakerChanged(false);
}

void RedisConnection::Private::probe()
{
    const qint64 sentUs = monotonicUs();
    enqueue(
        {"PING"},
        [this, alive = QPointer<RedisConnection>(q), sentUs](Result<Value> reply) {
            if (!alive || reply || reply.error().code != u"redis_timeout"_s)
                return;
            if (m_heardAtUs < sentUs)
                drop(u"the server does not answer"_s, 0);
            else
                m_retryTimer.start(jittered(options.breakerProbeIntervalMs));
        },
        options.commandTimeoutMs * 1000LL);
}

// ---- refusals ------------------------------------------------------------------------------------------------

void RedisConnection::Private::refuse(Callback callback, Error error)
{
    if (m_isShutDown) {
        // Sent by a callback of the destructor: answered from the event loop, which outlives this object.
        auto late = [callback = std::move(callback), error = std::move(error)] { callback(fail(error)); };
        QMetaObject::invokeMethod(QAbstractEventDispatcher::instance(), std::move(late),
                                  Qt::QueuedConnection);
        return;
    }
    if (m_refusals.empty())
        QMetaObject::invokeMethod(
            q, [this] { runRefusals(); }, Qt::QueuedConnection);
    m_refusals.push_back({std::move(callback), std::move(error)});
}

void RedisConnection::Private::runRefusals()
{
    // From a list of its own: a callback may refuse more, or delete the connection.
    for (Refusal &refusal : std::exchange(m_refusals, {}))
        refusal.callback(fail(std::move(refusal.error)));
}

Error RedisConnection::Private::unavailable() const
{
    const QString reason = lastError.isEmpty() ? u"not connected yet"_s : lastError;
    return {
        u"redis_unavailable"_s, u"Redis at %1 is not available: %2."_s.arg(endpoint.display(), reason), {}};
}

Error RedisConnection::Private::closedError(const QString &reason) const
{
    return {u"redis_closed"_s,
            u"The connection to Redis at %1 ended (%2); the command may have been executed."_s.arg(
                endpoint.display(), reason),
            {}};
}

} // namespace tidekeeper::redis
