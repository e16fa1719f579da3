// SPDX-License-Identifier: Apache-2.0
#include "settings/limiterview.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::settings {

namespace {

QJsonObject consequence(const QString &whenTrue, const QString &whenFalse)
{
    return {{u"true"_s, whenTrue}, {u"false"_s, whenFalse}};
}

/// What each switch means for mail and for the API.
QJsonObject consequences()
{
    return {
        {u"enabled"_s,
         consequence(
             u"Every call is decided and counted."_s,
             u"Everything is granted without asking Redis, nothing is counted, and the API may refuse "
             "calls."_s)},
        {u"enforce"_s,
         consequence(u"What exceeds a limit is refused and told when to ask again."_s,
                     u"Shadow mode: everything is granted, answers name what would have refused, and the API "
                     "may refuse calls."_s)},
        {u"fail_open"_s,
         consequence(
             u"While Redis is away calls pass, marked as degraded: work goes on, and the API may refuse "
             "some calls."_s,
             u"While Redis is away every call is refused with 503: no limit is exceeded, and work stands "
             "still."_s)},
        {u"local_fallback"_s,
         consequence(
             u"What passes without Redis is bounded by each engine's own bucket."_s,
             u"What passes without Redis is not bounded at all: the API may lock the project out."_s)},
    };
}

QString sourceOf(const QString &name, const QJsonObject &applied, const QJsonObject &written,
                 const QString &otherwise)
{
    if (applied.contains(name))
        return u"operator"_s;
    return written.contains(name) ? u"file"_s : otherwise;
}

QJsonObject sources(const LimiterState &state)
{
    const LimiterProfile &profile = state.profile;
    QJsonObject sources;
    for (const QString &name : profile.names())
        sources[name] = sourceOf(name, state.applied, profile.section, u"default"_s);

    QJsonObject projects;
    for (const QString &project : profile.projectLimits().keys()) {
        QJsonObject limits;
        for (const QString &name : LimiterProfile::projectNames())
            limits[name] = sourceOf(name, state.applied["projects"_L1][project].toObject(),
                                    profile.projects[project].toObject(),
                                    name == "day_action"_L1 ? u"default"_s : u"preset"_s);
        projects[project] = limits;
    }
    sources[u"projects"_s] = projects;
    return sources;
}

QJsonObject viewOf(const OverrideName &name, const LimiterState::Override &own)
{
    QJsonObject view{{u"project"_s, name.project},
                     {u"account"_s, name.account},
                     {u"changed"_s, QJsonArray::fromStringList(own.changes.keys())}};
    if (!own.checked) {
        const QString text = u"It has no effect: "_s + own.checked.error().text;
        view[u"warnings"_s] = QJsonArray{text};
        return view;
    }
    const limits::AccountLimits &limits = own.checked->limits;
    view[u"account_capacity"_s] = limits.capacity;
    view[u"account_refill_per_minute"_s] = limits.refillPerMinute;
    view[u"bulk_reserve"_s] = double(limits.reserveMilli) / (1000.0 * double(limits.capacity));
    view[u"slots"_s] = limits.places;
    view[u"warnings"_s] = QJsonArray::fromStringList(own.checked->warnings);
    return view;
}

QStringList warnings(const LimiterState &state, const QJsonObject &effective, const QString &readProblem)
{
    QStringList warnings;
    for (const QString &name : {u"enabled"_s, u"enforce"_s}) {
        if (effective.value(name) == QJsonValue(false))
            warnings.append(consequences()[name]["false"_L1].toString());
    }
    if (effective["fail_open"_L1].toBool() && effective.value("local_fallback"_L1) == QJsonValue(false))
        warnings.append(consequences()["local_fallback"_L1]["false"_L1].toString());
    for (const Misfit &misfit : state.misfits)
        warnings.append(
            u"The stored setting %1 does not fit and has no effect: %2"_s.arg(misfit.field, misfit.text));
    for (const QString &setting : state.strayOverrides)
        warnings.append(u"The stored setting \"%1\" names no account and has no effect."_s.arg(setting));
    if (!state.problem.isEmpty())
        warnings.append(u"The stored settings are not in force yet: "_s + state.problem);
    if (!readProblem.isEmpty())
        warnings.append(u"The settings stay as they were read last: "_s + readProblem);
    return warnings;
}

} // namespace

QJsonObject limiterView(const LimiterState &state, const QString &readProblem)
{
    QJsonObject view = state.profile.limiter->describe();
    const QJsonObject effective = state.effective();
    for (auto setting = effective.begin(); setting != effective.end(); ++setting)
        view[setting.key()] = setting.value();
    view[u"changed"_s] = state.stored;
    view[u"sources"_s] = sources(state);
    view[u"consequences"_s] = consequences();
    view[u"warnings"_s] = QJsonArray::fromStringList(warnings(state, effective, readProblem));
    QJsonArray overrides;
    for (const auto &[name, own] : state.overrides)
        overrides.append(viewOf(name, own));
    view[u"overrides"_s] = overrides;
    return view;
}

} // namespace tidekeeper::settings
