// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/grantid.h"

#include <QtCore/QByteArrayList>
#include <QtCore/QJsonObject>

#include <optional>

namespace tidekeeper::limits {

/// What the API answered to a call, as the buckets see it.
struct Verdict {
    QString account; ///< normalized
    QString project;
    bool rate = false; ///< refused for its rate
    QString scope; ///< of a rate answer: "account" or "project"
    QString family; ///< empty: all calls
    qint64 retryAfterMs = 0; ///< 0: it did not say
    qint64 toldLimit = 0; ///< units per minute; 0: it did not say
    std::optional<Grant> grant; ///< with which the call was made

    /// From the form that BucketFeedback::report takes; invalid_request with the field.
    static Result<Verdict> from(const QString &limiter, const QJsonObject &json);

    /// True when the call took units that the API may not have counted.
    bool isChargedButRefused() const { return rate && grant && !grant->degraded && grant->cost > 0; }

    /// The arguments of tidekeeper_report_v1.
    QByteArrayList arguments() const;
};

} // namespace tidekeeper::limits
