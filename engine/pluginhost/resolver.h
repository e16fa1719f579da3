// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginrecord.h"

#include <QtCore/QMap>

#include <vector>

namespace tidekeeper::pluginhost {

/// What plugins are measured against.
struct HostOffer {
    QVersionNumber sdkVersion;
    QStringList services; ///< IIDs
};

/// Indices of records; those of one wave need only those of the waves before it.
using Waves = std::vector<std::vector<std::size_t>>;

/// Later records with the id of an earlier one fail.
void refuseDuplicates(std::vector<PluginRecord> &records);

/// Takes "enabled" from the section, checks the rest against the plugin's schema and fills in its defaults. A
/// disabled plugin does not fail because of its section: the fault becomes its note.
void applySection(PluginRecord &record, QJsonObject section);

/// Decides, from metadata alone, who may be loaded: Found becomes Disabled, Failed or Resolved. Pure.
Waves resolve(std::vector<PluginRecord> &records, const HostOffer &offer);

/// Fails a plugin because one that it depends on failed.
void failAfter(PluginRecord &record, const PluginRecord &dependency);

/// The version rule of dependencies: compatVersion ≤ wanted ≤ version.
bool provides(const PluginMetadata &provider, const QVersionNumber &wanted);

} // namespace tidekeeper::pluginhost
