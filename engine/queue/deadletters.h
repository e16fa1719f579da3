// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/functionlibrary.h"

#include <QCoro/QCoroTask>
#include <QtCore/QJsonObject>
#include <QtCore/QStringList>

namespace tidekeeper::queue {

struct DeadFilter {
    QString group; ///< class, or class:fingerprint; empty = all
    QStringList ids; ///< for a move: exactly these; empty = all that match the group
    int limit = 100; ///< of a list, 1 to 1,000
    QString cursor; ///< of a list
    QString state = QStringLiteral("dead"); ///< of a list: dead or discarded
};

/// Jobs that will not run again by themselves, with payload, class, text and history. Thread of its connection.
/// Failures: redis_*, functions_refused, invalid_request.
class DeadLetters {
public:
    DeadLetters(QString queue, redis::FunctionLibrary &library);

    /// Newest first (discarded ones by when they were discarded): {"dead": [{"id", "type", "payload", "group",
    /// "error_class", "error_text", "died_at", …, "history": […]}], "groups": [{"group", "count", "first_at",
    /// "last_at"}], "total", "next_cursor"}. Groups (1,000 at most) and total are of all that are in that state; first
    /// and last are times of death. A payload that is not JSON comes as "payload_base64".
    QCoro::Task<Result<QJsonObject>> list(DeadFilter filter);

    /// {"matched", "requeued", "already_live"}: back to the queue with fresh counts, unless a job with the same
    /// dedupe key is live.
    QCoro::Task<Result<QJsonObject>> requeue(DeadFilter filter, bool dryRun);
    /// {"matched", "discarded"}; can be restored for 24 h.
    QCoro::Task<Result<QJsonObject>> discard(DeadFilter filter, bool dryRun);
    /// {"matched", "restored", "too_late"}: discarded ones become dead letters again, within 24 h.
    QCoro::Task<Result<QJsonObject>> restore(DeadFilter filter, bool dryRun);

private:
    enum class Wanted : quint8 { All, Ids };

    QCoro::Task<Result<redis::Value>> page(QByteArray set, QString group, QByteArray cursor, int limit,
                                           Wanted wanted);
    QCoro::Task<Result<QStringList>> matching(QByteArray set, QString group);
    QCoro::Task<Result<QJsonObject>> move(QByteArray set, QByteArray function, QStringList words,
                                          DeadFilter filter, bool dryRun);

    QByteArray m_prefix;
    redis::FunctionLibrary &m_library;
};

} // namespace tidekeeper::queue
