// SPDX-License-Identifier: Apache-2.0
#include "limits/settlement.h"

#include "limits/redisanswer.h"

#include <QtCore/QPointer>

namespace tidekeeper::limits {

namespace {

constexpr int mostAtOnce = 100; // well below a millisecond of Redis, so that no request waits behind them
constexpr int nextMs = 10;
constexpr qsizetype answerItems = 3;

/// Redis has not taken it and will not: the connection was not there, or it refused.
bool wasNotTaken(const Result<redis::Value> &answer)
{
    if (!answer)
        return answer.error().code == QLatin1StringView("redis_unavailable");
    const AnswerKind kind = kindOf(answer, answerItems);
    return kind == AnswerKind::Away || kind == AnswerKind::NotExecuted || kind == AnswerKind::NoPolicy;
}

} // namespace

Settlement::Settlement(redis::RedisConnection &connection, redis::FunctionLibrary &library,
                       const Projects &projects, const Clock &clock)
    : m_connection(connection), m_library(library), m_projects(projects), m_clock(clock)
{
    m_next.setSingleShot(true);
    m_next.setInterval(nextMs);
    connect(&m_next, &QTimer::timeout, this, &Settlement::sendSome);
    connect(&connection, &redis::RedisConnection::ready, this, [this] { m_next.start(); });
    connect(&connection, &redis::RedisConnection::breakerChanged, this, [this] { m_next.start(); });
}

bool Settlement::isOpen() const
{
    return m_connection.isReady() && !m_connection.isBreakerOpen();
}

/// What may have been taken is not sent again, as everywhere: a lost answer must not charge twice.
void Settlement::send(const std::shared_ptr<Project> &project, const QByteArray &accountKey)
{
    const LocalBuckets::Amounts owed = project->local.takeDebt(accountKey, m_clock.monotonicMs() * 1000);
    if (owed.isNothing())
        return;
    const QPointer<Settlement> self(this);
    m_library.call("tidekeeper_settle_v1", {accountKey, project->keys.project(), project->keys.policy()},
                   {QByteArray::number(owed.accountMilli), QByteArray::number(owed.projectMilli)},
                   [self, project, accountKey, owed](const Result<redis::Value> &answer) {
                       if (wasNotTaken(answer))
                           project->local.putBackDebt(accountKey, owed);
                       else if (self)
                           self->goOn(*project); // for accounts that nobody asks for any more
                   });
}

void Settlement::sendSome()
{
    if (!isOpen())
        return;
    int sent = 0;
    for (const std::shared_ptr<Project> &project : m_projects.all()) {
        for (; sent < mostAtOnce && !project->local.anyDebtor().isEmpty(); ++sent)
            send(project, project->local.anyDebtor());
    }
}

} // namespace tidekeeper::limits
