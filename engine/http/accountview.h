// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/accountview.h"
#include "store/accountstore.h"

namespace tidekeeper::http {

/// A stored account as the API shows it: bands computed for this moment, no secret.
protocol::AccountView accountView(const store::AccountRow &row, qint64 nowMs, qint64 windowMs);

protocol::AccountListView accountListView(const store::AccountPage &page, qint64 nowMs, qint64 windowMs);

} // namespace tidekeeper::http
