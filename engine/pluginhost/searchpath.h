// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QStringList>

namespace tidekeeper::pluginhost {

/// The configured folders, then those that belong to the program: from the build tree and from an installation, it
/// finds the plugins beside it.
QStringList searchPath(const QStringList &configured);

} // namespace tidekeeper::pluginhost
