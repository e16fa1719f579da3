// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pushproof.h"
#include "protocol/accountview.h"
#include "store/accountstore.h"

namespace tidekeeper::http {

/// A stored account as the API shows it: bands computed for this moment, no secret.
protocol::AccountView accountView(const store::AccountRow &row, qint64 nowMs, qint64 windowMs,
                                  const core::PushLimits &pushLimits = {});

protocol::AccountListView accountListView(const store::AccountPage &page, qint64 nowMs, qint64 windowMs,
                                          const core::PushLimits &pushLimits = {});

} // namespace tidekeeper::http
