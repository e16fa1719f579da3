// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QList>
#include <QtCore/QStringList>
#include <QtCore/QVersionNumber>

namespace tidekeeper::pluginhost {

struct PluginDependency {
    QString id;
    QVersionNumber version; ///< met when compatVersion ≤ version ≤ version of the other plugin
};

/// What a plugin says about itself, read without running any of its code. Keys and types: the SDK's
/// pluginmetadata.schema.json.
struct PluginMetadata {
    QString id;
    QString name;
    QVersionNumber version;
    QVersionNumber compatVersion; ///< oldest version whose users this one still serves; version when left out
    QVersionNumber sdkVersion;
    QString description;
    QString license;
    QStringList provides; ///< IIDs of the interfaces that its root object implements
    QStringList needs; ///< IIDs of the services that it cannot do without
    QList<PluginDependency> dependencies;
    QJsonObject configSchema; ///< JSON schema of its section of the configuration
    bool enabledByDefault = true;
};

/// "1", "1.2" or "1.2.3", always as three numbers; invalid_version otherwise.
Result<QVersionNumber> parseVersion(const QString &text);

/// Checks and converts the embedded JSON. Failure bad_metadata: the text names every key that is missing or wrong.
Result<PluginMetadata> parseMetadata(const QJsonObject &json);

/// One sentence for each key that the schema does not know: mistyped ones have no effect.
QStringList unknownMetadataKeys(const QJsonObject &json);

/// Reads a plugin file without running its code. Failures: not_found, not_a_plugin (a sound library that is not ours),
/// load_error (no library of this machine, or cut short), wrong_iid, bad_metadata.
Result<PluginMetadata> readMetadata(const QString &file);

} // namespace tidekeeper::pluginhost
