// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "limits/serverclock.h"
#include "redis/functionlibrary.h"

#include <tidekeeper/services.h>

#include <QCoro/QCoroTask>
#include <QtCore/QMap>

#include <map>
#include <memory>
#include <tuple>

namespace tidekeeper::limits {

/// The engine's side of weighted buckets: policies of the projects of each limiter, kept published in Redis, and one
/// FCALL of lua/quota.lua for each decision. Thread of the connection.
///
/// While Redis is away, a project with fail_open grants, marked as degraded and counted, and one without answers
/// limiter_unavailable. Faults of our own, such as a policy that cannot be published, are never taken for consent.
class BucketService final : public QObject, public Buckets {
    Q_OBJECT

public:
    BucketService(redis::RedisConnection &connection, redis::FunctionLibrary &library, const Clock &clock,
                  QObject *parent = nullptr);
    ~BucketService() override;

    /// Also ok while Redis is away: the policy is published as soon as Redis is there.
    void publish(const QString &limiter, const QString &project, const QJsonObject &policy,
                 Reply *reply) override;
    void acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply) override;

    /// Present levels of the accounts that asked this engine lately and whose address contains `filter`, most drained
    /// first, in units rounded down: {"now", "projects": [{"project", "level", "capacity"}],
    /// "buckets": [{"account", "project", "level", "capacity"}], "total": how many there are}. Failures:
    /// unknown_limiter, limiter_unavailable.
    QCoro::Task<Result<QJsonObject>> levels(QString limiter, QString filter, int most);

    /// How often each outcome was answered: by lane, "granted", "degraded" or what refused.
    struct Outcome {
        QString limiter;
        QString lane;
        QString outcome;
        bool operator<(const Outcome &other) const
        {
            return std::tie(limiter, lane, outcome) < std::tie(other.limiter, other.lane, other.outcome);
        }
    };
    const std::map<Outcome, qint64> &outcomes() const { return m_outcomes; }

private:
    struct Project;
    struct Call;
    using Done = std::function<void(Result<redis::Value>)>;

    void publishToRedis(const std::shared_ptr<Project> &project, Done done);
    void publishAll();

    void send(const std::shared_ptr<Call> &call);
    void answered(const std::shared_ptr<Call> &call, const Result<redis::Value> &answer);
    void decided(const std::shared_ptr<Call> &call, const redis::Value &decision);
    void publishAndAskAgain(const std::shared_ptr<Call> &call);
    void askAgainSoon(const std::shared_ptr<Call> &call);
    void redisIsAway(const Call &call, const QString &why);
    void finish(const Call &call, const QuotaAnswer &answer);
    QString grantIdOf(const Call &call, qint64 nowUs);

    redis::FunctionLibrary &m_library;
    const Clock &m_clock;
    ServerClock m_serverClock;
    QMap<QString, QMap<QString, std::shared_ptr<Project>>> m_projects; ///< by limiter, by project
    std::map<Outcome, qint64> m_outcomes;
    QString m_grantPrefix; ///< of this process
    quint64 m_grants = 0;
};

} // namespace tidekeeper::limits
