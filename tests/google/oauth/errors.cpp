// SPDX-License-Identifier: Apache-2.0
#include "google/oauth/errors.h"

namespace tidekeeper::googlesim::errors {

using namespace Qt::StringLiterals;

Answer token(int status, const QString &error, const QString &description, const QString &subtype)
{
    QJsonObject body{{u"error"_s, error}};
    if (!description.isEmpty())
        body.insert(u"error_description"_s, description);
    if (!subtype.isEmpty())
        body.insert(u"error_subtype"_s, subtype);
    return Answer::json(body, status);
}

} // namespace tidekeeper::googlesim::errors
