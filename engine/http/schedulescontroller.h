// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "scheduler/scheduler.h"

namespace tidekeeper::http {

/// /api/v1/schedules: list, change, run, pause, resume, the next fires. Main thread.
class SchedulesController {
public:
    SchedulesController(Router &router, scheduler::Scheduler &scheduler);

private:
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> get(Request request);
    QCoro::Task<Response> patch(Request request);
    QCoro::Task<Response> run(Request request);
    QCoro::Task<Response> pause(Request request);
    QCoro::Task<Response> resume(Request request);
    QCoro::Task<Response> next(Request request);
    QCoro::Task<Response> changed(Request request, QJsonObject change);

    scheduler::Scheduler &m_scheduler;
};

} // namespace tidekeeper::http
