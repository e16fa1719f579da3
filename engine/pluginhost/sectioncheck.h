// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginrecord.h"

#include <QtCore/QMap>

#include <vector>

namespace tidekeeper::pluginhost {

using Sections = QMap<QString, QJsonObject>; ///< by plugin id, as written; durations in milliseconds

/// The plugins in these folders, in order, each with its section applied. Runs none of their code. A record that
/// cannot be used, or whose section is wrong, is Failed; the others are Found.
std::vector<PluginRecord> findPlugins(const QStringList &searchPath, const Sections &sections);

/// One unknown_plugin for each section that belongs to no plugin, with the nearest id.
QList<Error> unknownSections(const std::vector<PluginRecord> &records, const Sections &sections);

/// Every fault of the sections that the host would find: unknown_plugin, and bad_configuration, one for each plugin
/// that would not run because of its section. Details "field" names the section.
QList<Error> checkSections(const QStringList &searchPath, const Sections &sections);

} // namespace tidekeeper::pluginhost
