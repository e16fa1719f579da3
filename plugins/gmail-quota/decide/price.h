// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "costtable.h"

#include <tidekeeper/reply.h>

namespace gmailquota {

/// The cost of a request in units: that of its method times its count, or the plain cost that it names.
/// Failures: invalid_request with the field; unknown_method with "near", the names that it resembles.
tidekeeper::Status price(const CostTable &costs, const tidekeeper::QuotaRequest &request, qint64 *cost);

} // namespace gmailquota
