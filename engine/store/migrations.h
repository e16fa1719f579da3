// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtSql/QSqlDatabase>

namespace tidekeeper::store {

/// Brings the schema up to this build's version, all of it in one transaction and one engine at a time; nothing to
/// do when it is there already. Failures: database_too_new (made by a newer engine), database_unavailable.
Result<> migrate(QSqlDatabase &db);

/// The version that this build knows.
int schemaVersion();

} // namespace tidekeeper::store
