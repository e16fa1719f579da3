// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"

#include <tidekeeper/reply.h>

namespace tidekeeper::http {

/// 200 for a grant, 422 cost_exceeds_capacity for what can never be granted, 429 quota_refused otherwise, or the
/// failure.
Response quotaResponse(const Result<QuotaAnswer> &answer);

/// One result of a batch: the body that quotaResponse() has, with its "status".
QJsonObject quotaResult(const Result<QuotaAnswer> &answer);

} // namespace tidekeeper::http
