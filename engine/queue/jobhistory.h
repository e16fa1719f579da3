// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/functionlibrary.h"

#include <QCoro/QCoroTask>
#include <QtCore/QJsonObject>

namespace tidekeeper::queue {

/// Empty fields match all.
struct FinishedFilter {
    QString type;
    QString outcome; ///< done, dead
    QString errorClass; ///< of the last failure, also of a job that was done in the end
    QString id;
    int limit = 100; ///< 1 to 1,000
    QString cursor;
};

/// What became of the jobs of a queue and of the runs of its schedules. Redis keeps the last 10,000 finished jobs of
/// a queue and the last 1,000 runs of a schedule; a dead letter that is requeued is listed again when it ends. Times
/// are epoch ms by Redis' clock, 0 = not known. Thread of its connection. Failures: redis_*, functions_refused,
/// invalid_request (details "field").
class JobHistory {
public:
    JobHistory(QString queue, redis::FunctionLibrary &library);

    /// Newest first: {"jobs": [{"id", "type", "schedule", "outcome": "done" | "dead", "starts", "attempts",
    /// "deferrals", "enqueued_at", "started_at", "ended_at", "duration_ms", "error_class", "error_text"}],
    /// "next_cursor"}. Starts are those since the last orderly end.
    QCoro::Task<Result<QJsonObject>> finished(FinishedFilter filter);

    /// Newest first: {"runs": [{"nominal_at", "trigger": "schedule" | "manual", "result", "outcome": "done" | "dead"
    /// | "", "job", "fired_at", "started_at", "ended_at", "duration_ms", "attempts", "deferrals", "error_class",
    /// "error_text"}], "next_cursor"}. A run that made a job is listed when that ends (results "added" and
    /// "queued_one"); one that made none is listed at once, with outcome "": "promoted", "waiting", "delayed" and
    /// "running" say what the live job of its key was doing, "passed_over" that a policy let the tick go.
    QCoro::Task<Result<QJsonObject>> runs(QString schedule, int limit, QString cursor);

private:
    QCoro::Task<Result<QJsonObject>> pages(QByteArray function, QList<QByteArray> before,
                                           QList<QByteArray> after, int limit, QString cursor,
                                           QString listName, QJsonObject (*entryFrom)(const QByteArray &));

    QByteArray m_prefix;
    redis::FunctionLibrary &m_library;
};

/// One run as Redis keeps it; empty when there is none.
QJsonObject runFrom(const QByteArray &entry);

} // namespace tidekeeper::queue
