// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/overview.h"
#include "http/router.h"

namespace tidekeeper::app {

/// GET /healthz, /readyz, /metrics and /api/v1/overview. Main thread.
class StatusController {
public:
    StatusController(http::Router &router, Overview &overview, MetricsRegistry &metrics, Lookout &lookout,
                     const limits::BucketService &buckets);

private:
    QCoro::Task<http::Response> overview(http::Request request);
    QCoro::Task<http::Response> healthy(http::Request request);
    QCoro::Task<http::Response> ready(http::Request request);
    QCoro::Task<http::Response> metrics(http::Request request);
    void setGauges(const QJsonObject &overview);
    void setGauges(const QString &limiter, const limits::Usage &usage);
    void setQueues(const QJsonArray &queues);
    void setScheduler(const QJsonObject &scheduler);
    void setSwitches(const QJsonObject &limiter);

    Overview &m_overview;
    MetricsRegistry &m_metrics;
    Lookout &m_lookout;
    const limits::BucketService &m_buckets;
};

} // namespace tidekeeper::app
