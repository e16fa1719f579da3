// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/searchpath.h"

#include <QtCore/QCoreApplication>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

QStringList searchPath(const QStringList &configured)
{
    const QString programs = QCoreApplication::applicationDirPath();
    return configured
        + QStringList{programs + u"/../lib/tidekeeper/plugins"_s, QStringLiteral(TIDEKEEPER_PLUGIN_DIR)};
}

} // namespace tidekeeper::pluginhost
