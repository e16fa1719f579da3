// SPDX-License-Identifier: Apache-2.0
#include "limits/projects.h"

#include "limits/redisanswer.h"

#include <QtCore/QPointer>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr int checkMs = 30'000; // Redis knows the next day too, so nothing depends on the minute
constexpr qint64 publishMs = 2'000; // for a publication that no caller waits for

bool isWrongType(const Result<redis::Value> &answer)
{
    return answer && answer->isError() && answer->text.startsWith("WRONGTYPE");
}

} // namespace

Projects::Projects(redis::RedisConnection &connection, redis::FunctionLibrary &library, const Clock &clock,
                   ServerClock &serverClock)
    : m_connection(connection), m_library(library), m_clock(clock), m_serverClock(serverClock)
{
    // After a connection was lost Redis may have been emptied: policies are put back before anyone misses them.
    connect(&connection, &redis::RedisConnection::ready, this, &Projects::publishAll);
    m_checkTimer.setInterval(checkMs);
    connect(&m_checkTimer, &QTimer::timeout, this, &Projects::publishWhatIsDue);
    m_checkTimer.start();
}

std::shared_ptr<Project> Projects::take(const QString &limiter, const QString &name, const Policy &policy,
                                        const AccountNames &names)
{
    std::shared_ptr<Project> &project = m_all[limiter][name];
    if (project) {
        project->policy = policy;
        project->local.setPolicy(policy);
    } else {
        project = std::make_shared<Project>(Project{limiter, name, Keys(limiter, name, names), policy});
        Q_EMIT added(limiter, name);
    }
    return project;
}

std::shared_ptr<Project> Projects::find(const QString &limiter, const QString &name) const
{
    const auto projects = m_all.constFind(limiter);
    if (projects == m_all.constEnd())
        return nullptr;
    return name.isEmpty() ? projects->value(u"default"_s) : projects->value(name);
}

QList<std::shared_ptr<Project>> Projects::all() const
{
    QList<std::shared_ptr<Project>> all;
    for (const auto &projects : m_all)
        all += projects.values();
    return all;
}

Error Projects::unknown()
{
    return Error::failure(u"unknown_project"_s, u"This limiter has no project of this name."_s,
                          {{u"field"_s, u"project"_s}});
}

void Projects::publishAll()
{
    m_isOneRefused = false;
    m_publishedAt = m_clock.nowMs();
    for (const auto &projects : std::as_const(m_all)) {
        for (const auto &project : projects)
            publish(project, m_clock.monotonicMs() + publishMs);
    }
}

/// A new day, or a policy that a full or read-only Redis did not take.
void Projects::publishWhatIsDue()
{
    if (m_isOneRefused)
        return publishAll();
    const qint64 nowMs = m_clock.nowMs();
    for (const auto &projects : std::as_const(m_all)) {
        for (const auto &project : projects) {
            if (project->policy.dayAt(m_publishedAt).endMs != project->policy.dayAt(nowMs).endMs)
                return publishAll();
        }
    }
}

QCoro::Task<Result<redis::Value>> Projects::publish(std::shared_ptr<Project> project, qint64 endMs)
{
    const QPointer<Projects> self(this);
    Result<redis::Value> answer = co_await publishOnce(project, endMs);
    if (!self || !isWrongType(answer))
        co_return answer;
    co_await removeForeignPolicy(project->keys.policy(), endMs);
    if (!self)
        co_return answer;
    answer = co_await publishOnce(project, endMs);
    co_return answer;
}

QCoro::Task<Result<redis::Value>> Projects::publishOnce(std::shared_ptr<Project> project, qint64 endMs)
{
    const QPointer<Projects> self(this);
    const QByteArrayList keys{project->keys.policy(), project->keys.project()};
    Result<redis::Value> answer = co_await m_library.call(
        "tidekeeper_publish_v1", keys, project->policy.arguments(m_clock.nowMs()), leftMs(endMs));
    if (self && answer && answer->items.size() == 2)
        m_serverClock.seen(answer->items[1].toInteger(), m_clock.monotonicMs());
    if (self && answer && answer->items.size() == 2 && answer->items[0].toInteger() == 1)
        Q_EMIT written(project->limiter, project->name);
    if (self && kindOf(answer, 2) == AnswerKind::Away)
        m_isOneRefused = true;
    co_return answer;
}

/// Somebody put another thing under the policy's name: it is ours to take back. A hash of ours stays as it is.
QCoro::Task<> Projects::removeForeignPolicy(QByteArray key, qint64 endMs)
{
    const QPointer<Projects> self(this);
    const QByteArrayList ask{"TYPE", key};
    const QByteArrayList remove{"DEL", key};
    const Result<redis::Value> type = co_await m_connection.command(ask, leftMs(endMs));
    if (self && type && !type->isError() && type->text != "hash")
        co_await m_connection.command(remove, leftMs(endMs));
}

int Projects::leftMs(qint64 endMs) const
{
    return int(std::max(qint64(1), endMs - m_clock.monotonicMs()));
}

} // namespace tidekeeper::limits
