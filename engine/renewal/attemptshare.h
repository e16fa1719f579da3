// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/attemptwindow.h"
#include "redis/redisconnection.h"

#include <tidekeeper/services.h>

#include <QtCore/QObject>
#include <QtCore/QTimer>

namespace tidekeeper::renewal {

/// Tells all engines what attempts came to: one entry a second and engine in a stream that keeps a day, so that an engine
/// that starts knows what happened before. Failures that count for a decision go one by one, the others as a number.
/// Without Redis the engines know less of each other and nothing else changes. Thread of the connection.
class AttemptShare final : public QObject {
    Q_OBJECT

public:
    AttemptShare(redis::RedisConnection &connection, const Clock &clock, QObject *parent = nullptr);

    void start();
    void stop();
    void add(const core::EndedAttempt &attempt);

Q_SIGNALS:
    void arrived(const QList<tidekeeper::core::EndedAttempt> &attempts);

private:
    void write();
    void read();
    void take(const redis::Value &reply);

    redis::RedisConnection &m_connection;
    const Clock &m_clock;
    const QByteArray m_engineId;
    QTimer m_timer;
    QList<core::EndedAttempt> m_waiting; ///< not written yet; of good ones one for each client
    QByteArray m_seenId; ///< of the stream's entries; empty = none yet
    bool m_isReading = false;
};

/// One entry of the stream and back: {"p": project, "c": client, "n": the others, "f": [[account, class, code], …]} for
/// each client. What cannot be read is left out.
QByteArray entryOf(const QList<core::EndedAttempt> &attempts);
QList<core::EndedAttempt> attemptsOf(const QByteArray &entry, qint64 atMs);

} // namespace tidekeeper::renewal
