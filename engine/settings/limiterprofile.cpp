// SPDX-License-Identifier: Apache-2.0
#include "settings/limiterprofile.h"

#include "config/config.h"
#include "core/nearestname.h"
#include "pluginhost/jsonschema.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::settings {

namespace {

const QString enabledName = u"enabled"_s;
const QString projectsName = u"projects"_s;

tl::unexpected<Error> invalid(const QString &field, const QString &text)
{
    return fail(u"invalid_settings"_s, text, {{u"field"_s, field}});
}

Result<> checkName(const QString &name, const QStringList &known, const QString &path, const QString &what)
{
    if (known.contains(name))
        return {};
    return invalid(path + name,
                   u"\"%1\" is not a setting of %2."_s.arg(path + name, what)
                       + core::didYouMean(name, known));
}

Result<> checkProject(const QString &name, const QJsonValue &value, const QJsonObject &stored)
{
    const QString path = projectsName + u'.' + name + u'.';
    if (!value.isObject())
        return invalid(path.chopped(1), u"\"%1\" must be an object of limits."_s.arg(path.chopped(1)));
    const QJsonObject limits = value.toObject();
    for (auto limit = limits.begin(); limit != limits.end(); ++limit) {
        if (limit->isNull() && stored.contains(limit.key()))
            continue;
        const Result<> known = checkName(limit.key(), LimiterProfile::projectNames(), path, u"a project"_s);
        if (!known)
            return known;
        if (limit->isObject() || limit->isArray() || limit->isBool())
            return invalid(path + limit.key(), u"\"%1\" must be a number or text."_s.arg(path + limit.key()));
    }
    return {};
}

Result<> checkProjects(const QJsonValue &value, const QJsonObject &existing, const QJsonObject &stored)
{
    if (value.isNull() || value.isUndefined())
        return {};
    if (!value.isObject())
        return invalid(projectsName, u"\"projects\" must be an object of projects by name."_s);
    const QJsonObject projects = value.toObject();
    for (auto project = projects.begin(); project != projects.end(); ++project) {
        const bool returns = project->isNull() && stored.contains(project.key());
        if (!returns && !existing.contains(project.key()))
            return fail(u"unknown_project"_s,
                        u"There is no project \"%1\"; configured are: %2."_s.arg(
                            project.key(), existing.keys().join(u", "_s)),
                        {{u"field"_s, projectsName + u'.' + project.key()}});
        const Result<> sound = project->isNull()
            ? Result<>()
            : checkProject(project.key(), *project, stored[project.key()].toObject());
        if (!sound)
            return sound;
    }
    return {};
}

} // namespace

QStringList LimiterProfile::names() const
{
    return QStringList{enabledName} + schema["properties"_L1].toObject().keys();
}

QStringList LimiterProfile::projectNames()
{
    return {u"account_capacity"_s, u"account_refill_per_minute"_s,
            u"project_capacity"_s, u"project_refill_per_minute"_s,
            u"day_budget"_s,       u"day_action"_s};
}

Result<QJsonObject> LimiterProfile::effective(const QJsonObject &changes) const
{
    QJsonObject whole = section;
    for (auto change = changes.begin(); change != changes.end(); ++change)
        whole[change.key()] = change.value();
    const QJsonValue enabled = changes.value(enabledName);
    whole.remove(enabledName);
    whole.remove(projectsName);
    Result<QJsonObject> checked = pluginhost::checkAgainstSchema(schema, whole);
    if (!checked)
        return invalid(checked.error().details["keys"_L1][0].toString(), checked.error().text);
    (*checked)[enabledName] = enabled.toBool(true);
    return checked;
}

Result<QJsonObject> LimiterProfile::checked(const QJsonObject &changes, const QJsonObject &stored) const
{
    const QStringList known = names() + QStringList{projectsName};
    const QJsonObject properties = schema["properties"_L1].toObject();
    QJsonObject sound = changes;
    QJsonObject values; // of the section
    for (auto change = sound.begin(); change != sound.end(); ++change) {
        if (change->isNull() && stored.contains(change.key()))
            continue;
        if (const Result<> exists = checkName(change.key(), known, {}, u"this limiter"_s); !exists)
            return fail(exists.error());
        if (change.key() == projectsName || change->isNull())
            continue;
        if (change.key() == enabledName && !change->isBool())
            return invalid(enabledName, u"\"enabled\" must be true or false."_s);
        if (properties[change.key()]["format"_L1] == "duration"_L1 && change->isString()) {
            const Result<qint64> ms = config::parseDuration(change->toString());
            if (!ms)
                return invalid(change.key(), u"\"%1\": %2"_s.arg(change.key(), ms.error().text));
            change.value() = *ms;
        }
        values.insert(change.key(), change.value());
    }
    const QJsonObject storedProjects = stored[projectsName].toObject();
    if (const Result<> fit = checkProjects(changes[projectsName], projectLimits(), storedProjects); !fit)
        return fail(fit.error());
    if (const Result<QJsonObject> fits = effective(values); !fits)
        return fail(fits.error());
    return sound;
}

QJsonObject merged(QJsonObject stored, const QJsonObject &patch)
{
    for (auto change = patch.begin(); change != patch.end(); ++change) {
        QJsonValue value = change.value();
        if (value.isObject())
            value = merged(stored.value(change.key()).toObject(), value.toObject());
        if (value.isNull() || (value.isObject() && value.toObject().isEmpty()))
            stored.remove(change.key());
        else
            stored[change.key()] = value;
    }
    return stored;
}

QList<Leaf> leavesOf(const QJsonObject &changes)
{
    QList<Leaf> leaves;
    for (auto change = changes.begin(); change != changes.end(); ++change) {
        if (change.key() != projectsName || !change->isObject()) {
            leaves.append({change.key(), {{change.key(), change.value()}}});
            continue;
        }
        const QJsonObject projects = change->toObject();
        for (auto project = projects.begin(); project != projects.end(); ++project) {
            const QJsonObject limits = project->toObject();
            for (auto limit = limits.begin(); limit != limits.end(); ++limit) {
                const QJsonObject one{{limit.key(), limit.value()}};
                leaves.append({QStringList{projectsName, project.key(), limit.key()}.join(u'.'),
                               {{projectsName, QJsonObject{{project.key(), one}}}}});
            }
            if (limits.isEmpty())
                leaves.append({projectsName + u'.' + project.key(),
                               {{projectsName, QJsonObject{{project.key(), project.value()}}}}});
        }
    }
    return leaves;
}

} // namespace tidekeeper::settings
