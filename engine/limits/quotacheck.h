// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/reply.h>

namespace tidekeeper::limits {

/// Whether the buckets can take a request whose account is normalized and whose cost and lane are filled in. The failure
/// is invalid_request with the field; its text never repeats the account.
Status checkQuota(const QuotaRequest &request);

/// Whether a normalized account can be one: not empty, at most 320 bytes, no white space, no control characters.
Status checkAccount(const QString &account);

} // namespace tidekeeper::limits
