// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginrecord.h"

#include <QtCore/QObject>

namespace tidekeeper::pluginhost {

/// Fails the record unless the root object implements Plugin and exactly the interfaces under "Provides".
void checkInterfaces(PluginRecord &record, QObject &root);

/// IIDs of the services of this SDK.
QStringList serviceIids();

} // namespace tidekeeper::pluginhost
