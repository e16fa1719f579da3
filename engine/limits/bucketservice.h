// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/acquirecall.h"
#include "limits/feedback.h"
#include "limits/settlement.h"
#include "limits/usage.h"

namespace tidekeeper::limits {

/// The engine's side of weighted buckets: policies of the projects of each limiter, kept published in Redis, and one
/// FCALL of lua/quota.lua for each decision. Thread of the connection.
///
/// While Redis is away, a project with fail_open grants, marked as degraded and counted, as far as this engine's own
/// buckets allow it when local_fallback is on; one without fail_open answers limiter_unavailable. Faults of our own,
/// such as a policy that cannot be published, are never taken for consent.
class BucketService final : public QObject, public Buckets, public BucketFeedback {
    Q_OBJECT

public:
    BucketService(redis::RedisConnection &connection, redis::FunctionLibrary &library, const Clock &clock,
                  QObject *parent = nullptr);
    ~BucketService() override;

    /// Also ok while Redis is away: the policy is published as soon as Redis is there.
    void publish(const QString &limiter, const QString &project, const QJsonObject &policy,
                 Reply *reply) override;
    void acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply) override;
    void report(const QString &limiter, const QJsonObject &verdict, Reply *reply) override;

    /// Gives back what was never sent: {"refunded", "account_units", "project_units", "reason": "" or why nothing
    /// came back: "already", "late", "degraded", "free", and then "text"}. Failures: invalid_request, unknown_limiter,
    /// unknown_project, limiter_unavailable.
    QCoro::Task<Result<QJsonObject>> refund(QString limiter, QString grantId);
    /// Frees a place: {"released": whether it was still held}. Failures as above.
    QCoro::Task<Result<QJsonObject>> release(QString limiter, QString holdId);

    Projects &projects() { return m_projects; }

    /// How many engines share the buckets, as Redis last had it: without Redis each has its part of them.
    void setLiveEngines(const QString &limiter, const QString &project, int engines);

    /// The projects that this engine decides without Redis now: [{"limiter", "project", "since": epoch ms,
    /// "how": "local" (bounded by this engine's own buckets), "open" (unbounded) or "closed"}].
    QJsonArray decidedWithoutRedis() const;

    /// By limiter.
    const QMap<QString, Usage> &usage() const { return m_usage; }

private:
    friend struct AcquireCall; // tells its end

    Result<AccountNames> accountNames(const QString &limiter, const QString &project,
                                      const QJsonObject &policy) const;
    QCoro::Task<> publishNow(std::shared_ptr<Project> project, Reply *reply);
    QCoro::Task<> reportTo(Reply *reply, QString limiter, QJsonObject verdict);
    void ended(AcquireCall &call, AnswerKind kind, const Result<redis::Value> &answer);
    void decided(AcquireCall &call, const redis::Value &decision);
    void rememberForOutage(const AcquireCall &call, const QuotaAnswer &answer);
    void redisIsAway(const AcquireCall &call, const QString &why);
    QuotaAnswer withoutRedis(const AcquireCall &call);
    void finish(const AcquireCall &call, const QuotaAnswer &answer);

    const redis::RedisConnection &m_connection;
    const Clock &m_clock;
    ServerClock m_serverClock;
    Projects m_projects;
    Settlement m_settlement;
    QuotaCaller m_caller;
    QMap<QString, Usage> m_usage;
    Feedback m_feedback;
    qint64 m_lastDegradedUs = 0;
};

} // namespace tidekeeper::limits
