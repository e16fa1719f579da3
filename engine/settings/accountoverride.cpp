// SPDX-License-Identifier: Apache-2.0
#include "settings/accountoverride.h"

#include "core/nearestname.h"
#include "limits/policy.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::settings {

namespace {

tl::unexpected<Error> invalid(const QString &field, const QString &text)
{
    return fail(u"invalid_settings"_s, text, {{u"field"_s, field}});
}

Result<> checkNames(const QJsonObject &changes)
{
    const QStringList known = AccountOverride::names();
    for (const QString &name : changes.keys()) {
        if (!known.contains(name))
            return invalid(
                name,
                u"\"%1\" is not a limit of an account; there are %2."_s.arg(name, known.join(u", "_s))
                    + core::didYouMean(name, known));
    }
    if (changes.isEmpty())
        return invalid({}, u"Give at least one of %1."_s.arg(known.join(u", "_s)));
    return {};
}

QStringList warningsOf(const limits::Policy &policy)
{
    const qint64 worst = policy.account.worstMinute(policy.sendSlackMs);
    if (policy.account.published <= 0 || worst <= policy.account.published)
        return {};
    return {u"It may send %1 units within one minute, more than the published %2; lower account_capacity or "
            "account_refill_per_minute."_s.arg(worst)
                .arg(policy.account.published)};
}

} // namespace

QStringList AccountOverride::names()
{
    return {u"account_capacity"_s, u"account_refill_per_minute"_s, u"bulk_reserve"_s, u"slots"_s};
}

Result<AccountOverride> AccountOverride::from(const QJsonObject &projects, const QString &project,
                                              const QJsonObject &changes)
{
    if (!projects.contains(project))
        return fail(
            u"unknown_project"_s,
            u"There is no project \"%1\"; configured are: %2."_s.arg(project, projects.keys().join(u", "_s)),
            {{u"field"_s, u"project"_s}});
    if (Result<> known = checkNames(changes); !known)
        return fail(known.error());

    QJsonObject merged = projects[project].toObject();
    for (auto change = changes.begin(); change != changes.end(); ++change)
        merged[change.key()] = change.value();
    const Result<limits::Policy> checked = limits::Policy::from(merged);
    if (!checked)
        return invalid(checked.error().details["field"_L1].toString(), checked.error().text);

    const limits::Policy::Scope &account = checked->account;
    return AccountOverride{{account.capacity, account.refillPerMinute, account.reserveMilli, checked->places},
                           warningsOf(*checked)};
}

} // namespace tidekeeper::settings
