// SPDX-License-Identifier: Apache-2.0
#include "app/hostservices.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

QCoro::Task<> enqueueAndAnswer(queue::JobQueue &queue, queue::JobSpec spec, Reply *reply)
{
    const Result<queue::EnqueueResult> result = co_await queue.enqueue(std::move(spec));
    if (result)
        reply->finish(Status::success(), {{u"job"_s, result->job}, {u"result"_s, result->result}});
    else
        reply->finish(result.error(), {});
}

} // namespace

void QueueService::enqueue(const QJsonObject &job, Reply *reply)
{
    queue::JobSpec spec;
    spec.type = job.value("type"_L1).toString();
    spec.payload = job.value("payload"_L1).toObject();
    spec.dedupeKey = job.value("dedupe"_L1).toString();
    spec.delayMs = job.value("delay_ms"_L1).toInteger();
    spec.urgent = job.value("urgent"_L1).toBool();
    if (spec.type.isEmpty()) {
        reply->finish(
            Status::failure(u"invalid_request"_s, u"A job needs a \"type\"."_s, {{u"field"_s, u"type"_s}}),
            {});
        return;
    }
    enqueueAndAnswer(m_queue, std::move(spec), reply);
}

} // namespace tidekeeper::app
