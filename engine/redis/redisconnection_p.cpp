// SPDX-License-Identifier: Apache-2.0
#include "redis/redisconnection_p.h"

#include "redis/greeting.h"

#include <QtCore/QAbstractEventDispatcher>
#include <QtCore/QPointer>
#include <QtCore/QRandomGenerator>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

/// ± a quarter, so that many engines do not come back at the same instant.
int jittered(int ms)
{
    return ms * 3 / 4 + static_cast<int>(QRandomGenerator::global()->bounded(ms / 2 + 1));
}

} // namespace

RedisConnection::Private::Private(RedisConnection *connection, Endpoint where, ConnectionOptions how)
    : q(connection), endpoint(std::move(where)), options(std::move(how)), m_retryTimer(connection),
      m_connectTimer(connection)
{
    for (QTimer *timer : {&m_retryTimer, &m_connectTimer}) {
        timer->setSingleShot(true);
        timer->setTimerType(Qt::PreciseTimer);
    }
    QObject::connect(&m_retryTimer, &QTimer::timeout, q, [this] { retry(); });
    QObject::connect(&m_connectTimer, &QTimer::timeout, q,
                     [this] { drop(u"no connection within %1 ms"_s.arg(options.connectTimeoutMs)); });
}

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
    endLink(u"it was closed here"_s);
    m_retryTimer.stop();
    state = State::Closed;
    m_attempts = 0;
    closeBreaker();
}

void RedisConnection::Private::shutDown()
{
    endLink(u"it was closed here"_s);
    state = State::Closed;
    m_isShutDown = true;
    runRefusals();
    for (const Waiter &waiter : std::exchange(m_waiters, {}))
        (*waiter)(false);
}

void RedisConnection::Private::send(const QList<QByteArray> &arguments, Callback callback, int timeoutMs)
{
    Q_ASSERT(!arguments.isEmpty());
    if (state != State::Ready || isBreakerOpen)
        return refuse(std::move(callback), unavailable());
    const int withinMs = timeoutMs > 0 ? timeoutMs : options.commandTimeoutMs;
    m_link->send(arguments, std::move(callback), Link::monotonicUs() + withinMs * 1000LL);
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

// ---- the link: made, greeted, dropped, made anew -------------------------------------------------------------

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
    m_link = std::make_unique<Link>(endpoint);
    QObject::connect(m_link.get(), &Link::opened, q, [this] { greet(); });
    QObject::connect(m_link.get(), &Link::broke, q, [this](const QString &reason) { drop(reason); });
    QObject::connect(m_link.get(), &Link::answered, q, [this] { onAnswered(); });
    QObject::connect(m_link.get(), &Link::expired, q, [this](int commands) { onExpired(commands); });
    greetedAtUs.reset();
    m_connectTimer.start(options.connectTimeoutMs);
    m_link->open();
}

void RedisConnection::Private::greet()
{
    for (const QList<QByteArray> &command : greetingCommands(endpoint, options.clientName)) {
        auto judge = [this, command](const Result<Value> &reply) {
            if (reply)
                judgeGreeting(command, *reply);
        };
        m_link->send(command, judge, PendingCommands::never); // the connect timer covers it
    }
}

void RedisConnection::Private::judgeGreeting(const QList<QByteArray> &command, const Value &reply)
{
    if (command.first() == "TIME" && reply.items.size() == 2)
        greetedAtUs = reply.items[0].toInteger() * 1'000'000 + reply.items[1].toInteger();
    const QString objection = greetingObjection(command, reply);
    if (!objection.isEmpty())
        drop(objection);
    else if (!m_link->hasPending())
        becomeReady();
}

void RedisConnection::Private::becomeReady()
{
    m_connectTimer.stop();
    state = State::Ready;
    m_readyAtUs = Link::monotonicUs();
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

void RedisConnection::Private::endLink(const QString &reason)
{
    m_connectTimer.stop();
    if (!m_link)
        return;
    for (Callback &callback : m_link->takePending())
        refuse(std::move(callback), ended(reason));
    m_link.reset();
}

void RedisConnection::Private::drop(const QString &reason, std::optional<int> retryInMs)
{
    const bool wasReady = state == State::Ready;
    endLink(reason);
    state = State::Waiting;
    lastError = reason;
    if (wasReady && Link::monotonicUs() - m_readyAtUs > options.reconnectMaxMs * 1000LL)
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

// ---- the breaker ---------------------------------------------------------------------------------------------

void RedisConnection::Private::onAnswered()
{
    if (state != State::Ready)
        return; // the greeting counts as a whole
    lastLatencyUs = m_link->lastLatencyUs();
    closeBreaker();
}

void RedisConnection::Private::onExpired(int commands)
{
    if (!countFailures(commands))
        return;
    lastError = u"the server does not answer"_s;
    m_retryTimer.start(jittered(options.breakerProbeIntervalMs));
    Q_EMIT q->breakerChanged(true);
}

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

/// PING on the silent link. When nothing at all came since, the link is of no use, as with a peer that vanished.
void RedisConnection::Private::probe()
{
    const qint64 sentUs = Link::monotonicUs();
    auto judge = [this, link = QPointer<Link>(m_link.get()), sentUs](const Result<Value> &reply) {
        if (reply || !link)
            return;
        if (link->heardAtUs() < sentUs)
            drop(u"the server does not answer"_s, 0);
        else
            m_retryTimer.start(jittered(options.breakerProbeIntervalMs));
    };
    m_link->send({"PING"}, judge, sentUs + options.commandTimeoutMs * 1000LL);
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

Error RedisConnection::Private::ended(const QString &reason) const
{
    return {u"redis_closed"_s,
            u"The connection to Redis at %1 ended (%2); the command may have been executed."_s.arg(
                endpoint.display(), reason),
            {}};
}

} // namespace tidekeeper::redis
