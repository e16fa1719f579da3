// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"

#include <tidekeeper/reply.h>

namespace tidekeeper::http {

/// The body of an acquire as a request to a limiter. Failure: invalid_request with the field. Ranges are the
/// limiter's to check.
Result<QuotaRequest> quotaRequestFrom(const QJsonObject &body);

/// 200 for a grant, 422 cost_exceeds_capacity for what can never be granted, 429 quota_refused otherwise.
Response quotaResponse(const QuotaAnswer &answer);

} // namespace tidekeeper::http
