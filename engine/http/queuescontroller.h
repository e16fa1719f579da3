// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "queue/deadletters.h"
#include "queue/jobqueue.h"

namespace tidekeeper::http {

/// /api/v1/queues: what is where, and the dead letters of each queue. Main thread.
class QueuesController {
public:
    /// library: tidekeeper_queue, the same that the queues use.
    QueuesController(Router &router, QList<queue::JobQueue *> queues, redis::FunctionLibrary &library);

private:
    using Move = QCoro::Task<Result<QJsonObject>> (queue::DeadLetters::*)(queue::DeadFilter, bool);

    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> dead(Request request);
    QCoro::Task<Response> move(Request request, Move how);
    Result<queue::DeadLetters> lettersOf(const Request &request) const;

    QList<queue::JobQueue *> m_queues;
    redis::FunctionLibrary &m_library;
};

} // namespace tidekeeper::http
