// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>

namespace tidekeeper::pluginhost {

/// The JSON schema of a plugin's metadata, as it is shipped with the SDK.
const QJsonObject &metadataSchema();

} // namespace tidekeeper::pluginhost
