// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

namespace watchrenewal {

/// What Gmail answered to watch or stop, or that it did not.
struct ApiAnswer {
    QString failure; ///< "timeout" or "network" when there was no answer
    QString failureText;
    int status = 0;
    QString retryAfter; ///< header, may be empty
    QString date; ///< header, may be empty
    QString body;
};

/// Google's error envelope, the parts that decide. Missing parts are empty.
struct ApiError {
    QString message; ///< without addresses, at most 300 characters
    QString reason; ///< error.errors[0].reason
    QString infoReason; ///< error.details[] of type ErrorInfo: reason
    QString quotaLimit; ///< … metadata.quota_limit
};

ApiError apiErrorFrom(const QString &body);

} // namespace watchrenewal
