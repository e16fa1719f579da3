// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/quotacaller.h"
#include "limits/refundedgrants.h"
#include "limits/usage.h"
#include "limits/verdict.h"

#include <tidekeeper/services.h>

#include <QtCore/QHash>

namespace tidekeeper::limits {

/// What comes back after a decision: what the API said, quota that was not used, places. These need Redis: while it is
/// away they fail with limiter_unavailable, and the caller may ask again; a freeze holds in this engine all the same and
/// is brought to Redis as soon as that is back, and a grant of its own buckets goes back to them. Thread of the
/// connection.
class Feedback {
public:
    Feedback(QuotaCaller &caller, const Projects &projects, const Clock &clock, QMap<QString, Usage> &usage)
        : m_caller(caller), m_projects(projects), m_clock(clock), m_usage(usage)
    { }

    /// As BucketFeedback::report.
    QCoro::Task<Result<QJsonObject>> report(QString limiter, QJsonObject verdict);
    /// As BucketService has them.
    QCoro::Task<Result<QJsonObject>> refund(QString limiter, QString grantId);
    QCoro::Task<Result<QJsonObject>> release(QString limiter, QString holdId);

    /// Redis is there again: it is told of the freezes that it missed.
    void tellMissed();
    /// To be called while Redis is connected, before a request is sent to it: the same, once a second at most, because
    /// a Redis that is full or read-only would be told again and again.
    void catchUp()
    {
        if (!m_missed.isEmpty() && m_clock.monotonicMs() >= m_tellAgainMs)
            tellMissed();
    }

private:
    /// A refusal that Redis could not be told of.
    struct Missed {
        std::shared_ptr<Project> project;
        Verdict verdict;
        qint64 untilMs; ///< monotonic
    };
    QCoro::Task<Result<redis::Value>> tell(std::shared_ptr<Project> project, Verdict verdict);
    QCoro::Task<> tellAgain(Missed missed);
    QJsonObject refundDegraded(Project &project, const Grant &grant, const QString &grantId);
    void freezeLocally(const std::shared_ptr<Project> &project, const Verdict &verdict);
    Result<std::shared_ptr<Project>> projectOf(const QString &limiter, const QString &name) const;
    QCoro::Task<Result<redis::Value>> ask(std::shared_ptr<Project> project, QByteArray function,
                                          QByteArrayList keys, QByteArrayList arguments, qsizetype items);

    QuotaCaller &m_caller;
    const Projects &m_projects;
    const Clock &m_clock;
    QMap<QString, Usage> &m_usage;
    RefundedGrants m_refunded; ///< those of this engine's own buckets
    QHash<QByteArray, Missed> m_missed; ///< by what is frozen
    qint64 m_tellAgainMs = 0; ///< monotonic
};

} // namespace tidekeeper::limits
