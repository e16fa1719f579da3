// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/statedir.h"

namespace tidekeeper::app {

/// Names this engine to its database: random, kept in the state folder, and bound to the machine, so that a copy of the
/// whole folder on another machine is another engine. Hex; made when there is none. Failures: state_dir_unwritable.
Result<QString> engineId(const StateDir &state);

} // namespace tidekeeper::app
