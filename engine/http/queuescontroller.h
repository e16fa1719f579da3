// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/audit.h"
#include "http/router.h"
#include "queue/deadletters.h"
#include "queue/jobqueue.h"

namespace tidekeeper::http {

/// /api/v1/queues: what is where; of each queue the finished jobs and the dead letters. Main thread.
class QueuesController {
public:
    /// library: tidekeeper_queue, the same that the queues use.
    QueuesController(Router &router, QList<queue::JobQueue *> queues, redis::FunctionLibrary &library,
                     Audit &audit);

private:
    using Counts = QCoro::Task<Result<QJsonObject>>;
    struct Move {
        QString verb; ///< of the path: "requeue"
        Counts (queue::DeadLetters::*move)(queue::DeadFilter, bool);
    };

    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> jobs(Request request);
    QCoro::Task<Response> dead(Request request);
    QCoro::Task<Response> move(Request request, Move how);
    Result<QString> nameOf(const Request &request) const; ///< of the queue in the path; unknown_queue

    QList<queue::JobQueue *> m_queues;
    redis::FunctionLibrary &m_library;
    Audit &m_audit;
};

} // namespace tidekeeper::http
