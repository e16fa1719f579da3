// SPDX-License-Identifier: Apache-2.0
#include "redis/link.h"

#include <QtCore/QPointer>

#include <chrono>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

Link::Link(const Endpoint &endpoint) : m_transport(endpoint), m_where(endpoint.display())
{
    m_deadlineTimer.setSingleShot(true);
    m_deadlineTimer.setTimerType(Qt::PreciseTimer);
    connect(&m_deadlineTimer, &QTimer::timeout, this, &Link::expireCommands);
    connect(&m_transport, &Transport::connected, this, &Link::opened, Qt::QueuedConnection);
    connect(&m_transport, &Transport::dataArrived, this, &Link::takeReplies, Qt::QueuedConnection);
    connect(&m_transport, &Transport::failed, this, &Link::broke, Qt::QueuedConnection);
}

void Link::open()
{
    m_transport.open();
}

qint64 Link::monotonicUs()
{
    using namespace std::chrono;
    return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

void Link::send(const QList<QByteArray> &arguments, Callback callback, qint64 deadlineUs)
{
    appendCommand(m_out, arguments);
    m_pending.push({std::move(callback), monotonicUs(), deadlineUs});
    if (deadlineUs < m_armedDeadlineUs)
        armDeadline(deadlineUs);
    if (!std::exchange(m_isWriteScheduled, true))
        QMetaObject::invokeMethod(this, &Link::writeOut, Qt::QueuedConnection);
}

void Link::writeOut()
{
    m_isWriteScheduled = false;
    m_transport.write(m_out);
    m_out.resize(0);
}

void Link::takeReplies()
{
    const QPointer<Link> alive(this); // a callback may end it
    const qint64 nowUs = monotonicUs();
    if (m_transport.readInto(m_reader))
        m_heardAtUs = nowUs;
    while (alive) {
        Value value;
        switch (m_reader.next(value)) {
        case ReplyReader::Next::NeedsMore:
            return;
        case ReplyReader::Next::Broken:
            Q_EMIT broke(u"the server does not speak the Redis protocol (%1)"_s.arg(m_reader.problem()));
            return;
        case ReplyReader::Next::Complete:
            if (m_pending.isEmpty()) {
                Q_EMIT broke(u"the server sent a reply that nobody asked for"_s);
                return;
            }
            answer(m_pending.takeFirst(), std::move(value), nowUs);
        }
    }
}

void Link::answer(PendingCommands::Command command, Value value, qint64 nowUs)
{
    if (command.isExpired)
        return; // it came too late, and kept the following replies in step
    m_lastLatencyUs = nowUs - command.sentUs;
    Q_EMIT answered();
    command.callback(std::move(value)); // uses nothing of this object, which may be gone
}

void Link::armDeadline(qint64 deadlineUs)
{
    m_armedDeadlineUs = deadlineUs;
    if (deadlineUs == PendingCommands::never)
        return m_deadlineTimer.stop();
    const qint64 waitMs = (deadlineUs - monotonicUs() + 999) / 1000;
    m_deadlineTimer.start(static_cast<int>(std::clamp<qint64>(waitMs, 0, std::numeric_limits<int>::max())));
}

void Link::expireCommands()
{
    if (m_pending.earliestDeadlineUs() <= monotonicUs()) {
        // Replies that arrived while this thread was busy are not late.
        const QPointer<Link> alive(this);
        m_transport.poll();
        takeReplies();
        if (!alive)
            return;
    }
    const std::vector<Callback> late = m_pending.expire(monotonicUs());
    armDeadline(m_pending.earliestDeadlineUs());
    if (late.empty())
        return;
    const Error error{
        u"redis_timeout"_s,
        u"Redis at %1 did not answer in time; the command may have been executed."_s.arg(m_where),
        {}};
    Q_EMIT expired(static_cast<int>(late.size()));
    for (const Callback &callback : late)
        callback(fail(error));
}

} // namespace tidekeeper::redis
