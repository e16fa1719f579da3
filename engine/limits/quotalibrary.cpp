// SPDX-License-Identifier: Apache-2.0
#include "limits/quotalibrary.h"

#include "redis/functionlibrary.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

QByteArray libraryCode()
{
    QByteArray code;
    for (const QString &file :
         {u"quota.lua"_s, u"quota_acquire.lua"_s, u"quota_feedback.lua"_s, u"quota_upkeep.lua"_s})
        code += redis::FunctionLibrary::embedded(file);
    return code;
}

} // namespace tidekeeper::limits
