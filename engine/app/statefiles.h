// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/statedir.h"
#include "config/config.h"

// Where the configuration leaves it to the state folder.
namespace tidekeeper::app {

QString databaseUrl(const config::Config &config, const StateDir &state);
QString sealingKeyFile(const config::Config &config, const StateDir &state);

} // namespace tidekeeper::app
