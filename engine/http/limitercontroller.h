// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "limits/levelreader.h"
#include "settings/limitersettings.h"

namespace tidekeeper::http {

/// /api/v1/limiters: how limiters are set, and what operators change of them, also for single accounts. Every change
/// answers the whole limiter. Main thread; outlives its requests.
class LimiterController {
public:
    LimiterController(Router &router, const limits::LimiterRegistry &limiters, limits::LevelReader &levels,
                      settings::LimiterSettings &settings);

private:
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> show(Request request);
    QCoro::Task<Response> change(Request request);
    QCoro::Task<Response> putOverride(Request request);
    QCoro::Task<Response> removeOverride(Request request);
    QCoro::Task<Response> shown(QString limiter);
    QCoro::Task<QJsonObject> describe(QString name);

    const limits::LimiterRegistry &m_limiters;
    limits::LevelReader &m_levels;
    settings::LimiterSettings &m_settings;
};

} // namespace tidekeeper::http
