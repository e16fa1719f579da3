// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "limits/levelreader.h"
#include "limits/limiterregistry.h"

namespace tidekeeper::http {

/// /api/v1/limiters: limits, for people. Main thread; outlives its requests.
class LimiterController {
public:
    LimiterController(Router &router, limits::LimiterRegistry &limiters, limits::LevelReader &levels);

private:
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> show(Request request);
    QCoro::Task<QJsonObject> describe(QString name);

    limits::LimiterRegistry &m_limiters;
    limits::LevelReader &m_levels;
};

} // namespace tidekeeper::http
