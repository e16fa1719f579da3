// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QObject>
#include <QtCore/QStringList>
#include <QtCore/QVersionNumber>

namespace tidekeeper::pluginhost {

/// What a library file embeds, as Qt finds it without running any of its code.
struct EmbeddedMetadata {
    QString iid;
    QJsonObject json;
    QVersionNumber qtVersion; ///< that it was built with
};

/// Canonical paths of the library files in these folders, in their order, by name inside each; none twice.
QStringList libraryFiles(const QStringList &folders);

/// Failures: not_a_plugin (a sound library without metadata), load_error (no library of this machine, or cut short).
Result<EmbeddedMetadata> readEmbedded(const QString &file);

/// True when this engine's Qt loads plugins that were built with that version.
bool qtLoads(const QVersionNumber &builtWith);

/// Loads the library, for good, and makes its root object. Failure: load_error.
Result<QObject *> loadRootObject(const QString &file);

} // namespace tidekeeper::pluginhost
