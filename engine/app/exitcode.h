// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

namespace tidekeeper::app {

/// How tidekeeperd ends; --help shows the same list.
enum class ExitCode : int {
    Ok = 0,
    Failure = 1, ///< anything not named below
    Usage = 2, ///< wrong command line
    Configuration = 3, ///< the configuration file or environment
    StateFolder = 4, ///< not writable, or in use by another engine
    Address = 5, ///< port in use, address or TLS files refused
    Redis = 6, ///< missing, too old, or does not start
    Database = 7, ///< cannot be opened, or written by a newer version
    SealingKey = 8, ///< missing, not readable, or not the one that sealed the stored grants
    CutShort =
        9 ///< a second signal, or not everything had stopped within 15 s; what was running is taken over later
};

/// By the stable code of the failure that ended the start.
ExitCode exitCodeFor(const QString &errorCode);

} // namespace tidekeeper::app
