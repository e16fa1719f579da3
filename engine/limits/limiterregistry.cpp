// SPDX-License-Identifier: Apache-2.0
#include "limits/limiterregistry.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

bool LimiterRegistry::add(RateLimiter *limiter)
{
    const QString name = limiter->describe()["name"_L1].toString();
    if (name.isEmpty() || m_limiters.contains(name))
        return false;
    m_limiters.insert(name, limiter);
    return true;
}

void LimiterRegistry::acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply)
{
    RateLimiter *found = m_limiters.value(limiter);
    if (found) {
        found->acquire(request, reply);
        return;
    }
    const QString known = names().isEmpty() ? u"none is running"_s : u"running: "_s + names().join(u", "_s);
    reply->finish(
        Status::failure(u"unknown_limiter"_s, u"There is no limiter \"%1\"; %2."_s.arg(limiter, known)), {});
}

QJsonObject LimiterRegistry::describe(const QString &name) const
{
    RateLimiter *limiter = m_limiters.value(name);
    return limiter ? limiter->describe() : QJsonObject();
}

} // namespace tidekeeper::limits
