// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/pendingcommands.h"
#include "redis/protocol.h"
#include "redis/transport.h"

#include <QtCore/QTimer>

namespace tidekeeper::redis {

/// One connection from its opening to its end: commands out, replies in, the deadlines between them. Made for one
/// attempt and thrown away with it.
///
/// The transport's signals are taken from events of their own, so that a callback may do what it likes: send, delete
/// the link, run an event loop.
class Link : public QObject {
    Q_OBJECT

public:
    using Callback = PendingCommands::Callback;

    explicit Link(const Endpoint &endpoint);

    void open();
    /// Commands of one event-loop turn are written together. deadlineUs is monotonic; PendingCommands::never = none.
    void send(const QList<QByteArray> &arguments, Callback callback, qint64 deadlineUs);
    bool hasPending() const { return !m_pending.isEmpty(); }
    /// What is still to be answered, when the link is given up.
    std::vector<Callback> takePending() { return m_pending.takeAll(); }

    qint64 lastLatencyUs() const { return m_lastLatencyUs; } ///< −1 before the first reply in time
    qint64 heardAtUs() const { return m_heardAtUs; } ///< when bytes last came

    static qint64 monotonicUs();

Q_SIGNALS:
    void opened();
    void broke(const QString &reason);
    void answered(); ///< a reply in time; its callback runs after this
    void expired(int commands); ///< their callbacks run after this

private:
    void writeOut();
    void takeReplies();
    void answer(PendingCommands::Command command, Value value, qint64 nowUs);
    void armDeadline(qint64 deadlineUs);
    void expireCommands();

    Transport m_transport;
    ReplyReader m_reader;
    QByteArray m_out; ///< the commands of this event-loop turn
    bool m_isWriteScheduled = false;
    PendingCommands m_pending;
    QTimer m_deadlineTimer; ///< one for all, at the earliest deadline
    qint64 m_armedDeadlineUs = PendingCommands::never;
    qint64 m_lastLatencyUs = -1;
    qint64 m_heardAtUs = 0;
    QString m_where;
};

} // namespace tidekeeper::redis
