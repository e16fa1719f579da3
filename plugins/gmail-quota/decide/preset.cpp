// SPDX-License-Identifier: Apache-2.0
#include "preset.h"

#include <cmath>

using namespace Qt::StringLiterals;
using tidekeeper::Status;

namespace gmailquota {

namespace {

// Capacity and refill leave room for a grant that is used up to two seconds later:
// capacity + refill × 62 s ÷ 60 s stays below what is published. The day budget is where Google has announced
// charges to begin (developers.google.com/workspace/gmail/api/reference/quota).
const ProjectQuota &of2026()
{
    static const ProjectQuota quota{u"gmail-2026"_s,
                                    CostTable(CostTable::Generation::Of2026),
                                    6'000,
                                    1'200'000,
                                    360,
                                    5'450,
                                    72'000,
                                    1'090'000,
                                    80'000'000};
    return quota;
}

const ProjectQuota &legacy()
{
    static const ProjectQuota quota{u"gmail-legacy"_s,
                                    CostTable(CostTable::Generation::Legacy),
                                    15'000,
                                    1'200'000,
                                    900,
                                    13'625,
                                    72'000,
                                    1'090'000,
                                    0};
    return quota;
}

struct Limit {
    QLatin1StringView key;
    qint64 ProjectQuota::*value;
    qint64 least;
    qint64 most;
};

constexpr Limit limits[] = {
    {"account_capacity"_L1, &ProjectQuota::accountCapacity, 1, 1'000'000'000},
    {"account_refill_per_minute"_L1, &ProjectQuota::accountRefill, 1, 1'000'000'000},
    {"project_capacity"_L1, &ProjectQuota::projectCapacity, 1, 1'000'000'000},
    {"project_refill_per_minute"_L1, &ProjectQuota::projectRefill, 1, 1'000'000'000},
    {"day_budget"_L1, &ProjectQuota::dayBudget, 0, 1'000'000'000'000},
    {"slots"_L1, &ProjectQuota::places, 1, 1'000},
};
constexpr int limitsOfCustom = 4; // the first ones, which "custom" has to give

// Only "custom" may say these: elsewhere limits and costs travel together.
constexpr Limit publications[] = {
    {"published_account"_L1, &ProjectQuota::publishedAccount, 0, 1'000'000'000},
    {"published_project"_L1, &ProjectQuota::publishedProject, 0, 1'000'000'000},
};

constexpr auto dayAction = "day_action"_L1;

Status take(const QJsonObject &given, const Limit &limit, ProjectQuota *quota)
{
    const double number = given[limit.key].toDouble(NAN);
    if (!(number >= double(limit.least) && number <= double(limit.most) && number == std::floor(number)))
        return badValue(limit.key,
                        u"must be a whole number from %1 to %2."_s.arg(limit.least).arg(limit.most));
    quota->*limit.value = qint64(number);
    return Status::success();
}

/// The preset that a project starts from.
Status baseOf(const QJsonObject &project, ProjectQuota *quota)
{
    const QString preset = project["preset"_L1].toString(of2026().preset);
    const bool custom = preset == "custom"_L1;
    if (!custom && preset != of2026().preset && preset != legacy().preset)
        return badValue(u"preset"_s, u"must be gmail-2026, gmail-legacy or custom."_s);
    const QString base = custom
        ? project["costs"_L1].toString(project.contains("costs"_L1) ? QString() : of2026().preset)
        : preset;
    if (base != of2026().preset && base != legacy().preset)
        return badValue(u"costs"_s,
                        u"must be gmail-2026 or gmail-legacy, the table that calls are charged by."_s);
    *quota = base == legacy().preset ? legacy() : of2026();
    quota->preset = preset;
    for (const QString &key : limitNames())
        quota->sources[key] = u"preset"_s;
    quota->sources[dayAction] = u"default"_s;
    return Status::success();
}

Status takeCustom(const QJsonObject &project, ProjectQuota *quota)
{
    for (int i = 0; i < limitsOfCustom; ++i) {
        if (!project.contains(limits[i].key))
            return badValue(limits[i].key, u"is missing: the preset \"custom\" needs all four limits."_s);
    }
    for (const Limit &publication : publications) {
        if (!project.contains(publication.key))
            continue;
        if (const Status status = take(project, publication, quota); !status.ok())
            return status;
    }
    const QJsonObject costs = project["method_costs"_L1].toObject();
    for (auto cost = costs.begin(); cost != costs.end(); ++cost)
        quota->costs.replace(cost.key(), cost->toInteger());
    return Status::success();
}

Status readProject(const QJsonObject &project, ProjectQuota *quota)
{
    if (const Status status = baseOf(project, quota); !status.ok())
        return status;
    if (quota->preset == "custom"_L1) {
        if (const Status status = takeCustom(project, quota); !status.ok())
            return status;
    }
    return replaceLimits(project, u"file"_s, quota);
}

} // namespace

Status badValue(const QString &key, const QString &what)
{
    return Status::failure(u"invalid_value"_s, key + u' ' + what, {{u"field"_s, key}});
}

Status within(const QString &path, const QString &code, const Status &inner)
{
    QJsonObject details = inner.details;
    details[u"field"_s] = path + u'.' + details["field"_L1].toString();
    return Status::failure(code, path + u'.' + inner.text, details);
}

Status quotaOf(const QString &name, const QJsonObject &project, ProjectQuota *quota)
{
    const Status status = readProject(project, quota);
    return status.ok() ? status : within(u"google.projects."_s + name, u"bad_configuration"_s, status);
}

QStringList limitNames()
{
    QStringList names{dayAction};
    for (const Limit &limit : limits)
        names.append(limit.key);
    return names;
}

Status replaceLimits(const QJsonObject &given, const QString &source, ProjectQuota *quota)
{
    for (const Limit &limit : limits) {
        if (!given.contains(limit.key))
            continue;
        if (const Status status = take(given, limit, quota); !status.ok())
            return status;
        quota->sources[limit.key] = source;
    }
    if (!given.contains(dayAction))
        return Status::success();
    static const QStringList actions{u"warn"_s, u"refuse-bulk"_s, u"refuse"_s};
    if (!actions.contains(given[dayAction].toString()))
        return badValue(dayAction, u"must be \"warn\", \"refuse-bulk\" or \"refuse\"."_s);
    quota->dayAction = given[dayAction].toString();
    quota->sources[dayAction] = source;
    return Status::success();
}

} // namespace gmailquota
