// SPDX-License-Identifier: Apache-2.0
#include "http/accountlistrequest.h"

#include "config/config.h"
#include "http/accountfields.h"
#include "http/listquery.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

const QStringList parameters{u"band"_s, u"expiring_within"_s, u"state"_s, u"project"_s, u"due"_s, u"q"_s,
                             u"sort"_s, u"limit"_s,           u"cursor"_s};

Result<> readExpiringWithin(const QString &text, qint64 &withinMs)
{
    if (text.isEmpty())
        return {};
    bool plainNumber = false;
    withinMs = text.toLongLong(&plainNumber);
    if (plainNumber && withinMs >= 0)
        return {};
    const Result<qint64> duration = config::parseDuration(text);
    if (!duration) {
        return badField(u"expiring_within"_s,
                        u"must be a duration such as \"24h\" or \"2d\", or a number of milliseconds."_s);
    }
    withinMs = *duration;
    return {};
}

} // namespace

Result<store::AccountFilter> accountFilter(const Request &request)
{
    if (Result<> known = checkParameters(request, parameters); !known)
        return fail(known.error());
    store::AccountFilter filter;
    filter.band = queryValue(request, u"band"_s);
    filter.state = queryValue(request, u"state"_s);
    filter.project = queryValue(request, u"project"_s);
    const QString due = queryValue(request, u"due"_s);
    if (!due.isEmpty() && due != "true"_L1 && due != "false"_L1)
        return badField(u"due"_s, u"must be true or false."_s);
    filter.due = due == "true"_L1;
    filter.text = queryValue(request, u"q"_s);
    filter.cursor = queryValue(request, u"cursor"_s);
    if (const QString sort = queryValue(request, u"sort"_s); !sort.isEmpty())
        filter.sort = sort;
    if (Result<> read =
            readExpiringWithin(queryValue(request, u"expiring_within"_s), filter.expiringWithinMs);
        !read)
        return fail(read.error());
    const Result<int> limit = limitOf(request, filter.limit);
    if (!limit)
        return fail(limit.error());
    filter.limit = *limit;
    return filter;
}

} // namespace tidekeeper::http
