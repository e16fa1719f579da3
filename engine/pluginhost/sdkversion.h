// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QVersionNumber>

namespace tidekeeper::pluginhost {

/// Version of the SDK that this engine was built with.
inline QVersionNumber sdkVersion()
{
    return QVersionNumber::fromString(QLatin1StringView(TIDEKEEPER_SDK_VERSION));
}

} // namespace tidekeeper::pluginhost
