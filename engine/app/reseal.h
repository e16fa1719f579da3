// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/statedir.h"
#include "config/config.h"
#include "core/result.h"

#include <QCoro/QCoroTask>

namespace tidekeeper::app {

/// tidekeeperd --reseal-with FILE: changes the sealing key of the database to the one in newKeyFile, which is made when
/// it does not exist. Says on stderr how far it is and on stdout what to do next. Failures: sealing_*, database_*.
QCoro::Task<Result<>> resealWith(QString newKeyFile, config::Config config, const StateDir &state);

} // namespace tidekeeper::app
