// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rateanswer.h"

#include <tidekeeper/status.h>

namespace gmailquota {

/// One report of what Gmail answered, checked.
struct ReportRequest {
    QString account; ///< as given; not empty, at most 320 bytes of UTF-8
    QString project; ///< "default" when none is named
    QString grantId; ///< may be empty
    GmailAnswer answer;
};

/// {"account", "project"?, "status", "headers"?, "body"?, "grant_id"?} → request. Failure: invalid_request with the
/// field, also for a field that there is not, with "near".
tidekeeper::Status readReport(const QJsonObject &json, ReportRequest *request);

} // namespace gmailquota
