// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

namespace tidekeeper::store {

/// The time of the database server, epoch ms; 0 with SQLite, which has no clock of its own. Also the cheapest way to
/// hear whether the database answers. Failure: database_unavailable.
QCoro::Task<Result<qint64>> serverTimeMs(Database &database);

} // namespace tidekeeper::store
