// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

namespace tidekeeper::store {

/// Who else holds a write lock on a SQLite file or on the files beside it, as "process 4711 (sqlite3)"; empty when the
/// kernel tells of nobody: not on Linux, or in another container.
QString lockHolder(const QString &path);

} // namespace tidekeeper::store
