// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonValue>
#include <QtCore/QStringList>

namespace gmailquota {

/// Google's error envelope, the parts that decide. Missing parts are empty.
struct GmailError {
    QString message; ///< error.message; of a body that is no JSON, its text
    QStringList reasons; ///< error.errors[].reason, then error.details[].reason, as written
    QString status; ///< error.status, such as "RESOURCE_EXHAUSTED"
    QString quotaMetric; ///< error.details[].metadata.quota_metric, and so on
    QString quotaLimit;
    QString quotaUnit;
    qint64 quotaLimitValue = 0; ///< 0 = not told
};

/// Reads an error out of a body: an object, or text that should hold one (also inside a list). Text that is none,
/// because it is a page, was cut off or is what a client library printed, is searched for the same parts.
GmailError gmailErrorFrom(const QJsonValue &body);

} // namespace gmailquota
