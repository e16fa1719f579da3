// SPDX-License-Identifier: Apache-2.0
#include "http/listquery.h"

#include "http/accountfields.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

Result<> checkParameters(const Request &request, const QStringList &known)
{
    QJsonObject names;
    for (const auto &[name, value] : request.query.queryItems(QUrl::FullyDecoded)) {
        if (known.contains(name) && names.contains(name))
            return badField(name, u"is given twice."_s);
        names.insert(name, value);
    }
    return checkFieldNames(names, known, {});
}

Result<int> limitOf(const Request &request, int usual)
{
    const QString text = queryValue(request, u"limit"_s);
    if (text.isEmpty())
        return usual;
    bool isNumber = false;
    const int limit = text.toInt(&isNumber);
    if (isNumber && limit >= 1 && limit <= largestPage)
        return limit;
    return badField(u"limit"_s, u"must be a whole number from 1 to %1."_s.arg(largestPage));
}

} // namespace tidekeeper::http
