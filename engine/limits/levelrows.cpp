// SPDX-License-Identifier: Apache-2.0
#include "limits/levelrows.h"

#include "limits/dayuse.h"
#include "limits/units.h"

#include <QtCore/QLocale>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qsizetype bucketItems = 7;
constexpr qsizetype accountItems = bucketItems + 3;
constexpr qsizetype projectItems = bucketItems + 8;

QString grouped(qint64 value)
{
    return QLocale(QLocale::English).toString(value);
}

QJsonValue epochMs(qint64 us)
{
    return us > 0 ? QJsonValue(us / 1000) : QJsonValue(QJsonValue::Null);
}

tl::unexpected<Error> unavailable(const QString &text)
{
    return fail(u"limiter_unavailable"_s, u"The levels cannot be read from Redis: %1"_s.arg(text));
}

void readBucket(const redis::Value &row, BucketRow *bucket)
{
    const auto item = [&row](qsizetype i) { return row.items[i].toInteger(); };
    bucket->levelMilli = item(0);
    bucket->capacityMilli = item(1);
    bucket->refillPerMinute = item(2);
    bucket->paceThousandths = item(3);
    bucket->frozenUntilUs = item(4);
    bucket->probeIsOut = item(5) == 1;
    bucket->frozenFamilies = row.items[6].text;
}

QJsonArray familiesJson(const QByteArray &text)
{
    QJsonArray families;
    const QByteArrayList words = text.split(' ');
    for (qsizetype i = 0; i + 1 < words.size(); i += 2) {
        families.append(QJsonObject{{u"family"_s, QString::fromUtf8(words[i])},
                                    {u"until"_s, epochMs(words[i + 1].toLongLong())}});
    }
    return families;
}

QJsonObject bucketJson(const BucketRow &row)
{
    return {{u"level"_s, wholeUnits(row.levelMilli)},
            {u"capacity"_s, wholeUnits(row.capacityMilli)},
            {u"refill_per_minute"_s, row.refillPerMinute},
            {u"pace"_s, double(row.paceThousandths) / 1000},
            {u"frozen_until"_s, epochMs(row.frozenUntilUs)},
            {u"probe"_s, row.probeIsOut},
            {u"frozen_families"_s, familiesJson(row.frozenFamilies)}};
}

QString nameOf(Policy::DayAction action)
{
    switch (action) {
    case Policy::DayAction::Warn:
        break;
    case Policy::DayAction::RefuseBulk:
        return u"refuse-bulk"_s;
    case Policy::DayAction::Refuse:
        return u"refuse"_s;
    }
    return u"warn"_s;
}

QJsonObject dayJson(const Levels &levels, const Policy &policy)
{
    const ProjectRow &row = levels.project;
    const DayUse use =
        DayUse::from(marksFrom(row.marks), {levels.nowUs, row.usedUnits}, row.usedWhenDayBegan, row.dayEndUs);
    return {{u"units"_s, use.today},
            {u"last_24h"_s, use.last24h},
            {u"forecast"_s, use.forecast ? QJsonValue(*use.forecast) : QJsonValue(QJsonValue::Null)},
            {u"budget"_s, policy.dayBudget > 0 ? QJsonValue(policy.dayBudget) : QJsonValue(QJsonValue::Null)},
            {u"action"_s, nameOf(policy.dayAction)},
            {u"ends_at"_s, epochMs(row.dayEndUs)}};
}

} // namespace

Result<Levels> levelsFrom(const Result<redis::Value> &answer)
{
    if (!answer)
        return unavailable(answer.error().text);
    if (answer->isError())
        return unavailable(QString::fromUtf8(answer->text));
    if (answer->items.size() != 4 || answer->items[1].items.size() != projectItems)
        return unavailable(u"the answer has another form."_s);
    Levels levels;
    levels.nowUs = answer->items[0].toInteger();
    levels.active = answer->items[2].toInteger();

    const redis::Value &project = answer->items[1];
    const auto item = [&project](qsizetype i) { return project.items[bucketItems + i].toInteger(); };
    readBucket(project, &levels.project);
    levels.project.usedUnits = item(0);
    levels.project.usedWhenDayBegan = item(1);
    levels.project.dayEndUs = item(2);
    levels.project.marks = project.items[bucketItems + 3].text;
    levels.project.refusedUnits = item(4);
    levels.project.refusedCalls = item(5);
    levels.project.clockSteps = item(6);
    levels.project.bookedMilli = item(7);

    for (const redis::Value &row : answer->items[3].items) {
        if (row.items.size() != accountItems)
            return unavailable(u"the answer has another form."_s);
        AccountRow account;
        readBucket(row, &account);
        account.name = row.items[bucketItems].text;
        account.placesHeld = row.items[bucketItems + 1].toInteger();
        account.hasOwnLimits = row.items[bucketItems + 2].toInteger() == 1;
        levels.accounts.push_back(account);
    }
    return levels;
}

QJsonObject accountJson(const AccountRow &row, const QString &account, const QString &project,
                        const std::vector<Use> &lanes)
{
    QJsonObject byLane;
    for (const Use &use : lanes)
        byLane[use.lane] = QJsonObject{{u"units"_s, use.units}, {u"calls"_s, use.calls}};
    QJsonObject json = bucketJson(row);
    json[u"account"_s] = account.isEmpty() ? QJsonValue(QJsonValue::Null) : QJsonValue(account);
    if (account.isEmpty())
        json[u"key"_s] = QString::fromLatin1(row.name);
    json[u"project"_s] = project;
    json[u"held"_s] = row.placesHeld;
    json[u"override"_s] = row.hasOwnLimits;
    json[u"lanes"_s] = byLane;
    return json;
}

QJsonObject bookedJson(const ProjectRow &row, const Policy &policy)
{
    QJsonObject json{{u"units"_s, wholeUnits(row.bookedMilli)},
                     {u"allowed"_s, QJsonValue::Null},
                     {u"warning"_s, QJsonValue::Null}};
    if (policy.project.published == 0)
        return json;
    const Policy::Scope &limits = policy.project;
    const qint64 allowed = std::max(qint64(0), limits.published - limits.capacity - limits.refillPerMinute);
    json[u"allowed"_s] = allowed;
    if (row.bookedMilli > allowed * 1000) {
        json[u"warning"_s] =
            u"Accounts have booked %1 units ahead; with what the project's bucket grants, more than the "
            u"published "
            "%2 may be sent within one minute. Lower max_wait_ms of the callers, or project_capacity."_s.arg(
                grouped(wholeUnits(row.bookedMilli)), grouped(policy.project.published));
    }
    return json;
}

QJsonObject projectJson(const Levels &levels, const QString &name, const Policy &policy,
                        const std::vector<Use> &callers)
{
    const ProjectRow &row = levels.project;
    QJsonObject json = bucketJson(row);
    json[u"project"_s] = name;
    json[u"day"_s] = dayJson(levels, policy);
    json[u"booked"_s] = bookedJson(row, policy);
    json[u"charged_but_refused"_s] =
        QJsonObject{{u"units"_s, row.refusedUnits}, {u"calls"_s, row.refusedCalls}};
    json[u"clock_steps"_s] = row.clockSteps;
    json[u"callers"_s] = usesJson(callers);
    return json;
}

QJsonArray usesJson(const std::vector<Use> &uses)
{
    QJsonArray array;
    for (const Use &use : uses) {
        array.append(QJsonObject{{u"lane"_s, use.lane},
                                 {u"caller"_s, use.caller},
                                 {u"units"_s, use.units},
                                 {u"calls"_s, use.calls}});
    }
    return array;
}

} // namespace tidekeeper::limits
