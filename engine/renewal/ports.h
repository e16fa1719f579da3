// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/attemptwindow.h"
#include "core/bulkplan.h"
#include "core/outcome.h"
#include "oauth/accesstokens.h"
#include "queue/jobqueue.h"
#include "renewal/incidentstore.h"
#include "renewal/mailboxleases.h"
#include "renewal/renewalstore.h"

#include <tidekeeper/services.h>

#include <functional>

namespace tidekeeper::renewal {

/// One attempt that ended, for metrics.
struct AttemptMeasure {
    core::OutcomeKind kind = core::OutcomeKind::Local;
    QString code;
    qint64 tookMs = 0;
    qint64 lagMs = -1; ///< of a success: how long after its target; −1 = no success, or before its target
};

/// Everything outside that renewing touches.
struct Ports {
    RenewalStore &store;
    IncidentStore &incidents;
    MailboxLeases &leases;
    Limiters &limiters;
    const Clock &clock;

    /// A token for the account; rejected: one that the API did not accept.
    std::function<QCoro::Task<oauth::TokenResult>(core::Account account, QString rejected)> token;
    std::function<QCoro::Task<Result<QList<queue::EnqueueResult>>>(QList<queue::JobSpec> specs)> enqueue;
    std::function<void(const QString &type, const QJsonObject &event)> publish;
    /// Tells a limiter what the API answered, as BucketFeedback::report; nobody waits for it.
    std::function<void(const QString &limiter, const QJsonObject &verdict)> report;
    /// Gives back a grant that was not used; nobody waits for it.
    std::function<void(const QString &limiter, const QString &grantId)> refund;
    /// Tells the other engines of an attempt that ended; nobody waits for it.
    std::function<void(const core::EndedAttempt &attempt)> shareAttempt;
    Sleep sleep;
    std::function<double()> random; ///< 0 … 1, for jitter
    std::function<void(const AttemptMeasure &)> measure = {}; ///< may be empty
    /// Units that a limiter's projects may use in a day, together; 0 = no budget is set. May be empty.
    std::function<qint64(const QString &limiter)> dayBudget = {};
    /// As GrantHints::of(). May be empty.
    std::function<QString(const QString &project, const QString &client)> grantHint = {};
    /// What a limiter's projects may spend, by project. May be empty.
    std::function<QMap<QString, core::ProjectQuota>(const QString &limiter)> quotas = {};
};

} // namespace tidekeeper::renewal
