// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "renewal/evidence.h"
#include "simulate/google.h"

namespace tidekeeper::simulate {

/// What the engine makes of Google's answers: its own tables for the token endpoint and for Gmail.
renewal::Attempted attemptedOf(const Answers &answers, qint64 nowMs);

} // namespace tidekeeper::simulate
