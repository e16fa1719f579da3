// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/quotacaller.h"

#include <QtCore/QPointer>

namespace tidekeeper::limits {

class BucketService;

/// One acquire on its way.
struct AcquireCall final : QuotaCall {
    /// The request is checked, its account normalized and its lane filled in.
    AcquireCall(BucketService *owner, std::shared_ptr<Project> where, const QuotaRequest &request,
                QuotaReply *whom, qint64 nowMonotonicMs);

    void ended(AnswerKind kind, const Result<redis::Value> &answer) override;

    /// The most that this account can be granted at once in this lane, in units.
    qint64 largestCost() const
    {
        return project->policy.largestCost(lane, project->local.limitsOf(keys.at(0)));
    }
    bool hasFamily() const { return arguments.size() > deadlineArgument + 1; }
    /// What the answer of Redis says; for a hold with the place.
    QuotaAnswer decision(const redis::Value &value) const;
    /// Names this charge: the same for a request that repeats its id, whichever engine it asks.
    QString grantId(const QuotaAnswer &answer) const;

    QPointer<BucketService> service;
    QString account;
    QString lane;
    QString caller;
    QString id;
    qint64 cost; ///< units
    qint64 maxWaitMs;
    QuotaReply *reply;
    bool clockCorrected = false;
};

} // namespace tidekeeper::limits
