// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"
#include "store/accountstore.h"

namespace tidekeeper::http {

/// The filter in the query of GET /accounts. invalid_request with the parameter, also for one that is not known.
Result<store::AccountFilter> accountFilter(const Request &request);

} // namespace tidekeeper::http
