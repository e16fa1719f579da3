// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginrecord.h"

namespace tidekeeper::pluginhost {

/// What an author wants to know before he ships.
struct PluginCheck {
    PluginRecord record; ///< state Loaded when sound, else Failed with reason, text and remedy
    QStringList warnings; ///< sentences; nothing that keeps the plugin from loading
};

/// Goes with one file as far as the engine would without services: metadata, SDK, Qt, load, interfaces. Loads the
/// plugin's code into this process, but calls none of its functions. not_a_plugin when the file is not ours.
Result<PluginCheck> checkPlugin(const QString &file);

} // namespace tidekeeper::pluginhost
