// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "limits/levelreader.h"

namespace tidekeeper::http {

/// /api/v1/limiters/{name}/buckets: how full the buckets are, for people. Main thread; outlives its requests.
class BucketsController {
public:
    BucketsController(Router &router, limits::LevelReader &levels);

private:
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> show(Request request);

    limits::LevelReader &m_levels;
};

} // namespace tidekeeper::http
