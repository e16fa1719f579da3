// SPDX-License-Identifier: Apache-2.0
#include "app/statefiles.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

QString databaseUrl(const config::Config &config, const StateDir &state)
{
    return config.database.url.isEmpty() ? u"sqlite:"_s + state.file(u"tidekeeper.db"_s)
                                         : config.database.url;
}

QString sealingKeyFile(const config::Config &config, const StateDir &state)
{
    return config.sealingKeyFile.isEmpty() ? state.file(u"sealing.key"_s) : config.sealingKeyFile;
}

} // namespace tidekeeper::app
