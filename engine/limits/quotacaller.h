// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/projects.h"
#include "limits/redisanswer.h"

namespace tidekeeper::limits {

/// One call of a function of lua/quota.lua: what is asked, until when, and who learns how it ended.
struct QuotaCall : std::enable_shared_from_this<QuotaCall> {
    virtual ~QuotaCall() = default;

    /// Once, from the event loop. kind: Answer, Argument, Away or Broken.
    virtual void ended(AnswerKind kind, const Result<redis::Value> &answer) = 0;

    std::shared_ptr<Project> project;
    QByteArray function;
    QByteArrayList keys;
    QByteArrayList arguments;
    qsizetype items = 0; ///< how many the answer has; 0: it is a number
    qint64 endMs = 0; ///< monotonic: when the caller gives up
    qint64 lastStartMs =
        0; ///< monotonic: later the function must not decide any more; 0: it takes no deadline
    bool isRepeatable = false; ///< has an id: asking again after a lost answer charges nothing twice

    bool wasRepublished = false;
    bool wasCut = false;

    static constexpr qsizetype deadlineArgument = 3; ///< where lastStartMs goes, as server time
};

/// Brings calls to their end: what was not executed is asked again inside the call's deadline, and a policy that is
/// missing is published first. What may have been executed is only asked again when it is repeatable. Thread of the
/// connection.
class QuotaCaller final : public QObject {
    Q_OBJECT

public:
    QuotaCaller(redis::RedisConnection &connection, redis::FunctionLibrary &library, Projects &projects,
                const Clock &clock, const ServerClock &serverClock);

    void send(const std::shared_ptr<QuotaCall> &call);

private:
    static void end(QuotaCall &call, AnswerKind kind, const Result<redis::Value> &answer);
    void answered(const std::shared_ptr<QuotaCall> &call, const Result<redis::Value> &answer);
    bool mayAskAgain(QuotaCall &call, const Result<redis::Value> &answer) const;
    void askAgainSoon(const std::shared_ptr<QuotaCall> &call);
    QCoro::Task<> publishAndAskAgain(std::shared_ptr<QuotaCall> call);

    redis::RedisConnection &m_connection;
    redis::FunctionLibrary &m_library;
    Projects &m_projects;
    const Clock &m_clock;
    const ServerClock &m_serverClock;
};

} // namespace tidekeeper::limits
