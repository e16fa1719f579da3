// SPDX-License-Identifier: Apache-2.0
#include "app/pluginjobs.h"

#include "log/redact.h"

#include <QtCore/QJsonArray>

#include <algorithm>

using namespace Qt::StringLiterals;
using tidekeeper::queue::JobOutcome;

namespace tidekeeper::app {

namespace {

constexpr int defaultDeadlineMs = 5 * 60'000;
constexpr int longestDeadlineMs = 14 * 60'000; // below the worker's longestRunMs, after which a job is let go
constexpr qint64 longestWaitMs = 365 * 86'400'000LL; // the queue's ceiling by age ends a job long before
constexpr int longestClass = 64;
constexpr int longestText = 1'000;

/// −1 = the queue's own back-off.
qint64 afterMsOf(const QJsonObject &details)
{
    const double ms = details.value("after_ms"_L1).toDouble(-1);
    return ms < 0 ? -1 : static_cast<qint64>(std::min(ms, double(longestWaitMs)));
}

JobOutcome::Kind kindOf(const Error &error)
{
    if (pluginhost::isUnanswered(error))
        return error.code == u"stopping" ? JobOutcome::Kind::Release : JobOutcome::Kind::Retry;
    if (error.code == u"defer")
        return JobOutcome::Kind::Defer;
    return error.code == u"dead" ? JobOutcome::Kind::Dead : JobOutcome::Kind::Retry;
}

QJsonObject jsonOf(const queue::Job &job)
{
    return {{u"id"_s, job.id},
            {u"type"_s, job.type},
            {u"payload"_s, job.payload},
            {u"attempt"_s, job.attempts + 1},
            {u"deferrals"_s, job.deferrals}};
}

} // namespace

JobOutcome jobOutcomeFrom(const Result<QJsonObject> &answer)
{
    if (answer)
        return {};
    const Error &error = answer.error();
    JobOutcome outcome;
    outcome.kind = kindOf(error);
    outcome.afterMs = afterMsOf(error.details);
    outcome.errorClass = error.details.value("class"_L1).toString(error.code).left(longestClass);
    if (outcome.errorClass.isEmpty())
        outcome.errorClass = error.code.left(longestClass);
    outcome.errorText = log::redact(error.text).left(longestText);
    return outcome;
}

QStringList PluginJobs::add(const pluginhost::Implementation<JobHandler> &handler)
{
    QJsonObject description;
    try {
        description = handler.object->describe();
    } catch (...) {
        return {u"It runs no jobs: its describe() threw an exception."_s};
    }
    QStringList problems;
    const int deadlineMs = description.value("deadline_ms"_L1).toInt(defaultDeadlineMs);
    const QJsonArray types = description.value("types"_L1).toArray();
    for (const QJsonValue &value : types) {
        const QString type = value.toString();
        if (const auto other = m_runners.constFind(type); other != m_runners.constEnd()) {
            problems.append(u"It does not run jobs of the type \"%1\": the plugin \"%2\" does already."_s.arg(
                type, other->pluginId));
        } else if (!type.isEmpty()) {
            m_runners.insert(type,
                             {handler.object, handler.pluginId, std::clamp(deadlineMs, 1, longestDeadlineMs),
                              handler.lateAnswers});
        }
    }
    if (types.isEmpty())
        problems.append(u"It runs no jobs: its describe() names no \"types\"."_s);
    return problems;
}

void PluginJobs::serve(queue::Worker &worker)
{
    for (auto runner = m_runners.cbegin(); runner != m_runners.cend(); ++runner)
        worker.handle(runner.key(), [this](queue::Job job) { return run(std::move(job)); });
}

QCoro::Task<JobOutcome> PluginJobs::run(queue::Job job)
{
    const Runner runner = m_runners.value(job.type);
    const std::function<void(Reply *)> begin = [handler = runner.handler, description = jsonOf(job)](
                                                   Reply *reply) { handler->run(description, reply); };
    pluginhost::CallOptions options{runner.lateAnswers, m_stop.get_token()};
    const Result<QJsonObject> answer =
        co_await pluginhost::call(runner.deadlineMs, begin, std::move(options));
    co_return jobOutcomeFrom(answer);
}

} // namespace tidekeeper::app
