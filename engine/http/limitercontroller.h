// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "limits/bucketservice.h"
#include "limits/limiterregistry.h"

namespace tidekeeper::http {

/// /api/v1/limiters: decisions for consumers, limits and levels for people. Main thread; outlives its requests.
class LimiterController {
public:
    LimiterController(Router &router, limits::LimiterRegistry &limiters, limits::BucketService &buckets);

private:
    QCoro::Task<Response> acquire(Request request);
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> show(Request request);
    QCoro::Task<Response> levels(Request request);

    limits::LimiterRegistry &m_limiters;
    limits::BucketService &m_buckets;
};

} // namespace tidekeeper::http
