// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QStringList>

namespace tidekeeper::cli {

struct LocalEngine {
    QString url; ///< from DIR/endpoint, which the engine writes when it listens
    QString tokenFile; ///< DIR/admin.token
};

/// State folders in the order of looking: $TIDEKEEPER_STATE_DIR alone when it is set, else
/// $XDG_STATE_HOME/tidekeeper or ~/.local/state/tidekeeper, then /var/lib/tidekeeper.
QStringList stateDirs();

/// The engine of this machine. Failure: unreachable, with where was looked.
Result<LocalEngine> findLocalEngine(const QStringList &dirs);

/// First line of the file. Failure: token_file.
Result<QByteArray> readToken(const QString &file);

} // namespace tidekeeper::cli
