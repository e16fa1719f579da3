// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/audit.h"
#include "http/router.h"
#include "scheduler/scheduler.h"

namespace tidekeeper::http {

/// /api/v1/schedules: what runs when, what came of it, and what operators do about it. Main thread.
class SchedulesController {
public:
    SchedulesController(Router &router, scheduler::Scheduler &scheduler, Audit &audit);

private:
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> get(Request request);
    QCoro::Task<Response> patch(Request request);
    QCoro::Task<Response> run(Request request);
    QCoro::Task<Response> pause(Request request);
    QCoro::Task<Response> resume(Request request);
    QCoro::Task<Response> forget(Request request);
    QCoro::Task<Response> next(Request request);
    QCoro::Task<Response> runs(Request request);
    QCoro::Task<Response> changed(Request request, QJsonObject change);

    scheduler::Scheduler &m_scheduler;
    Audit &m_audit;
};

} // namespace tidekeeper::http
