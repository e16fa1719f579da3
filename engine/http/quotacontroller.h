// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "limits/bucketservice.h"
#include "limits/limiterregistry.h"

namespace tidekeeper::http {

/// What consumers do with a limiter: POST /api/v1/limiters/{name}/acquire, report, refund and release. Main thread;
/// outlives its requests.
class QuotaController {
public:
    QuotaController(Router &router, limits::LimiterRegistry &limiters, limits::BucketService &buckets);

private:
    QCoro::Task<Response> acquire(Request request);
    QCoro::Task<Response> acquireAll(QString limiter, QJsonObject body);
    QCoro::Task<Result<QuotaAnswer>> decide(QString limiter, QJsonValue request);
    QCoro::Task<Response> report(Request request);
    QCoro::Task<Response> refund(Request request);
    QCoro::Task<Response> release(Request request);

    limits::LimiterRegistry &m_limiters;
    limits::BucketService &m_buckets;
};

} // namespace tidekeeper::http
