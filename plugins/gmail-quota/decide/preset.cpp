// SPDX-License-Identifier: Apache-2.0
#include "preset.h"

using namespace Qt::StringLiterals;
using tidekeeper::Status;

namespace gmailquota {

namespace {

// Capacity and refill leave room for a grant that is used up to two seconds later:
// capacity + refill × 62 s ÷ 60 s stays below what is published.
const ProjectQuota &of2026()
{
    static const ProjectQuota quota{
        u"gmail-2026"_s, CostTable(CostTable::Generation::Of2026), 6'000, 1'200'000, 360, 5'450, 72'000,
        1'090'000};
    return quota;
}

const ProjectQuota &legacy()
{
    static const ProjectQuota quota{
        u"gmail-legacy"_s, CostTable(CostTable::Generation::Legacy), 15'000, 1'200'000, 900, 13'625, 72'000,
        1'090'000};
    return quota;
}

constexpr qint64 largestLimit = 1'000'000'000;

struct Limit {
    QLatin1StringView key;
    qint64 ProjectQuota::*value;
};

constexpr Limit limits[] = {
    {"account_capacity"_L1, &ProjectQuota::accountCapacity},
    {"account_refill_per_minute"_L1, &ProjectQuota::accountRefill},
    {"project_capacity"_L1, &ProjectQuota::projectCapacity},
    {"project_refill_per_minute"_L1, &ProjectQuota::projectRefill},
};

Status badField(const QString &project, QLatin1StringView key, const QString &what)
{
    return Status::failure(u"bad_configuration"_s, u"google.projects.%1.%2 %3"_s.arg(project, key, what),
                           {{u"field"_s, u"google.projects.%1.%2"_s.arg(project, key)}});
}

} // namespace

Status quotaOf(const QString &name, const QJsonObject &project, ProjectQuota *quota)
{
    const QString preset = project["preset"_L1].toString(of2026().preset);
    const bool custom = preset == "custom"_L1;
    if (custom || preset == of2026().preset)
        *quota = of2026();
    else if (preset == legacy().preset)
        *quota = legacy();
    else
        return badField(name, "preset"_L1, u"must be gmail-2026, gmail-legacy or custom."_s);
    quota->preset = preset;

    for (const Limit &limit : limits) {
        const QJsonValue given = project[limit.key];
        if (given.isUndefined()) {
            if (custom)
                return badField(name, limit.key,
                                u"is missing: the preset \"custom\" needs all four limits."_s);
            continue;
        }
        const double number = given.toDouble(-1);
        if (number < 1 || number > double(largestLimit) || number != double(qint64(number)))
            return badField(name, limit.key, u"must be a whole number from 1 to 1000000000."_s);
        quota->*limit.value = qint64(number);
    }
    return Status::success();
}

} // namespace gmailquota
