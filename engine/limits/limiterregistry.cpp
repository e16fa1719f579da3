// SPDX-License-Identifier: Apache-2.0
#include "limits/limiterregistry.h"

#include "core/account.h"
#include "limits/grantid.h"
#include "limits/projects.h"
#include "limits/quotacheck.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

bool LimiterRegistry::add(RateLimiter *limiter, RateFeedback *feedback)
{
    const QString name = limiter->describe()["name"_L1].toString();
    if (name.isEmpty() || m_limiters.contains(name))
        return false;
    m_limiters.insert(name, limiter);
    if (feedback)
        m_feedback.insert(name, feedback);
    return true;
}

void LimiterRegistry::setEnabled(const QString &name, bool enabled)
{
    if (enabled)
        m_switchedOff.remove(name);
    else
        m_switchedOff.insert(name);
}

/// Nobody decides, but what is wrong with a request is still said. A method has no cost here: prices are the limiter's.
void LimiterRegistry::grantUngoverned(const QString &limiter, const QuotaRequest &request, QuotaReply *reply)
{
    QuotaRequest checked = request;
    checked.cost = std::max<qint64>(request.cost, 0);
    if (checked.lane.isEmpty())
        checked.lane = u"realtime"_s;
    if (checked.project.isEmpty())
        checked.project = u"default"_s;
    Status status = checkQuota(checked);
    if (const QJsonObject projects = describe(limiter)["projects"_L1].toObject();
        status.ok() && !projects.contains(checked.project))
        status = Projects::unknown();
    if (!status.ok()) {
        reply->finish(status, {});
        return;
    }
    ++m_ungoverned[{limiter, checked.lane}];
    QuotaAnswer answer;
    answer.granted = true;
    answer.degraded = true;
    answer.cost = checked.cost;
    // Nothing was charged; the name is there for whoever reports or gives back every grant.
    answer.grantId =
        grantIdOf(limiter, {checked.project, core::normalizedEmail(checked.account), 0, 0, true, checked.id});
    reply->finish(Status::success(), answer);
}

void LimiterRegistry::acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply)
{
    RateLimiter *found = m_limiters.value(limiter);
    if (found && m_switchedOff.contains(limiter)) {
        grantUngoverned(limiter, request, reply);
        return;
    }
    if (found) {
        found->acquire(request, reply);
        return;
    }
    reply->finish(unknown(limiter), {});
}

void LimiterRegistry::report(const QString &limiter, const QJsonObject &answer, Reply *reply)
{
    if (RateFeedback *found = m_feedback.value(limiter))
        found->report(answer, reply);
    else if (m_limiters.contains(limiter))
        reply->finish(
            Status::failure(u"not_supported"_s,
                            u"The limiter \"%1\" takes no reports of what the API answered."_s.arg(limiter)),
            {});
    else
        reply->finish(unknown(limiter), {});
}

Error LimiterRegistry::unknown(const QString &limiter) const
{
    const QString known = names().isEmpty() ? u"none is running"_s : u"running: "_s + names().join(u", "_s);
    return Error::failure(u"unknown_limiter"_s, u"There is no limiter \"%1\"; %2."_s.arg(limiter, known));
}

QJsonObject LimiterRegistry::describe(const QString &name) const
{
    RateLimiter *limiter = m_limiters.value(name);
    return limiter ? limiter->describe() : QJsonObject();
}

} // namespace tidekeeper::limits
