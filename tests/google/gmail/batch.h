// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/call.h"

#include <functional>

namespace tidekeeper::googlesim {

/// POST /batch and /batch/gmail/v1: up to 100 calls in one multipart/mixed body. They are in flight side by side, so
/// a large batch trips over the limit of calls in flight, as at Google. serve answers one inner call.
Answer batch(const Call &call, const std::function<Answer(const Call &)> &serve);

} // namespace tidekeeper::googlesim
