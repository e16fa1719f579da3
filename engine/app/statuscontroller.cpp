// SPDX-License-Identifier: Apache-2.0
#include "app/statuscontroller.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

const QString decisionsHelp = u"Decisions of this engine by lane and outcome."_s;

} // namespace

using http::Method;
using http::Request;
using http::Response;
using http::Role;

StatusController::StatusController(http::Router &router, Overview &overview, MetricsRegistry &metrics,
                                   Lookout &lookout, const limits::BucketService &buckets)
    : m_overview(overview), m_metrics(metrics), m_lookout(lookout), m_buckets(buckets)
{
    router.add(Method::Get, u"/healthz"_s, Role::None, [this](Request r) { return healthy(std::move(r)); });
    router.add(Method::Get, u"/readyz"_s, Role::None, [this](Request r) { return ready(std::move(r)); });
    router.add(Method::Get, u"/metrics"_s, Role::Viewer,
               [this](Request r) { return this->metrics(std::move(r)); });
    router.add(Method::Get, u"/api/v1/overview"_s, Role::Viewer,
               [this](Request r) { return this->overview(std::move(r)); });
}

QCoro::Task<Response> StatusController::overview(Request)
{
    const QJsonObject overview = co_await m_overview.read();
    co_return Response::json(overview);
}

/// The process lives, whatever is wrong with its parts; a restart would mend none of it.
QCoro::Task<Response> StatusController::healthy(Request)
{
    const QJsonObject overview = co_await m_overview.read();
    const bool sound = overview["problems"_L1].toArray().isEmpty();
    co_return Response::json(
        {{u"status"_s, sound ? u"ok"_s : u"attention"_s}, {u"parts"_s, overview["parts"_L1]}});
}

QCoro::Task<Response> StatusController::ready(Request)
{
    const QJsonObject overview = co_await m_overview.read();
    const QJsonArray parts = overview["parts"_L1].toArray();
    const bool isReady = std::all_of(parts.begin(), parts.end(),
                                     [](const QJsonValue &part) { return part["ready"_L1].toBool(); });
    co_return Response::json({{u"status"_s, isReady ? u"ready"_s : u"not_ready"_s}, {u"parts"_s, parts}},
                             isReady ? 200 : 503);
}

QCoro::Task<Response> StatusController::metrics(Request)
{
    const QJsonObject overview = co_await m_overview.read();
    setGauges(overview);
    m_lookout.showMetrics(overview);
    Response response;
    response.contentType = "text/plain; version=0.0.4; charset=utf-8";
    response.body = m_metrics.text();
    co_return response;
}

void StatusController::setGauges(const QJsonObject &overview)
{
    m_metrics.set(u"redis_connected"_s, u"1 while Redis is connected."_s, {},
                  overview["redis"_L1]["connected"_L1].toBool() ? 1 : 0);
    m_metrics.set(u"redis_latency_seconds"_s, u"Of the last command."_s, {},
                  overview["redis"_L1]["latency_us"_L1].toDouble() / 1e6);
    setQueues(overview["queues"_L1].toArray());
    setScheduler(overview["scheduler"_L1].toObject());
    m_metrics.set(u"problems"_s, u"Parts of the engine that need attention."_s, {},
                  double(overview["problems"_L1].toArray().size()));
    for (const QJsonValue &limiter : overview["limiters"_L1].toArray())
        setSwitches(limiter.toObject());
    for (auto limiter = m_buckets.usage().begin(); limiter != m_buckets.usage().end(); ++limiter)
        setGauges(limiter.key(), *limiter);
    QMap<QString, int> degradedProjects;
    for (const QJsonValue project : m_buckets.decidedWithoutRedis())
        ++degradedProjects[project["limiter"_L1].toString()];
    for (const QString &limiter : m_buckets.usage().keys())
        m_metrics.set(u"limiter_degraded"_s, u"Projects that are decided without Redis now."_s,
                      {{u"limiter"_s, limiter}}, degradedProjects.value(limiter));
}

void StatusController::setQueues(const QJsonArray &queues)
{
    for (const QJsonValue &queue : queues) {
        const QJsonValue name = queue["name"_L1];
        for (const QString &state :
             {u"urgent"_s, u"normal"_s, u"delayed"_s, u"claimed"_s, u"running"_s, u"dead"_s, u"discarded"_s})
            m_metrics.set(u"queue_jobs"_s, u"Jobs by state; dead = dead letters."_s,
                          {{u"queue"_s, name}, {u"state"_s, state}}, queue[state].toDouble());
        m_metrics.set(u"queue_oldest_waiting_seconds"_s, u"Age of the oldest job that nobody has taken."_s,
                      {{u"queue"_s, name}}, queue["oldest_waiting_ms"_L1].toDouble() / 1'000);
        m_metrics.set(u"queue_taking"_s, u"1 while Redis hands out jobs to this engine."_s,
                      {{u"queue"_s, name}}, queue["taking"_L1].toBool() ? 1 : 0);
    }
}

void StatusController::setScheduler(const QJsonObject &scheduler)
{
    m_metrics.set(u"leader"_s, u"1 while this engine fires the schedules."_s, {},
                  scheduler["leader"_L1].toBool() ? 1 : 0);
    m_metrics.set(u"leader_term"_s, u"Term of this engine's leadership; 0 = not the leader."_s, {},
                  scheduler["term"_L1].toDouble());
    m_metrics.set(u"schedules"_s, u"Schedules that this engine knows."_s, {},
                  scheduler["schedules"_L1].toDouble());
    m_metrics.set(u"schedules_overdue"_s, u"Schedules that did not run when they were due."_s, {},
                  double(scheduler["overdue"_L1].toArray().size()));
    m_metrics.set(u"schedules_orphaned"_s, u"Schedules that no plugin declares any more."_s, {},
                  double(scheduler["orphaned"_L1].toArray().size()));
    m_metrics.set(u"last_tick_timestamp_seconds"_s,
                  u"When a schedule fired last, in any engine; 0 = never."_s, {},
                  scheduler["last_tick_at"_L1].toDouble() / 1'000);
}

void StatusController::setSwitches(const QJsonObject &limiter)
{
    const QJsonValue name = limiter["name"_L1];
    for (const QString &key : limiter.keys()) {
        if (limiter[key].isBool())
            m_metrics.set(u"limiter_switch"_s, u"1 while this switch of a limiter is on."_s,
                          {{u"limiter"_s, name}, {u"switch"_s, key}}, limiter[key].toBool() ? 1 : 0);
    }
    const QJsonObject unasked = limiter["granted_while_disabled"_L1].toObject();
    for (auto lane = unasked.begin(); lane != unasked.end(); ++lane)
        m_metrics.set(u"limiter_decisions"_s,
                      u"Decisions of this engine by lane and outcome, since this engine's start."_s,
                      {{u"limiter"_s, name}, {u"lane"_s, lane.key()}, {u"outcome"_s, u"disabled"_s}},
                      lane->toDouble());
}

void StatusController::setGauges(const QString &limiter, const limits::Usage &usage)
{
    const auto set = [this, &limiter](const QString &name, const QString &help, QJsonObject labels,
                                      qint64 value) {
        labels.insert("limiter"_L1, limiter);
        m_metrics.total(u"limiter_"_s + name, help, labels, double(value));
    };
    for (const auto &[decision, count] : usage.decisions)
        set(u"decisions"_s, decisionsHelp, {{u"lane"_s, decision.first}, {u"outcome"_s, decision.second}},
            count);
    for (const auto &[caller, units] : usage.unitsByCaller)
        set(u"granted_units"_s, u"Units granted by the caller that asked."_s, {{u"caller"_s, caller}}, units);
    for (const auto &[what, count] : usage.reports)
        set(u"reports"_s, u"Answers of the API that were reported: ok, or the scope of a refusal."_s,
            {{u"scope"_s, what}}, count);
    set(u"refunds"_s, u"Grants given back."_s, {}, usage.refunds.calls);
    set(u"refunded_units"_s, u"Units of accounts given back."_s, {}, usage.refunds.units);
    set(u"charged_but_refused_calls"_s, u"Calls charged here that the API refused."_s, {},
        usage.chargedButRefused.calls);
    set(u"charged_but_refused_units"_s, u"Units charged here for calls that the API refused."_s, {},
        usage.chargedButRefused.units);
}

} // namespace tidekeeper::app
