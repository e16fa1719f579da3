// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedule.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::scheduler {

namespace {

tl::unexpected<Error> refuse(const QString &field, const QString &text)
{
    return fail(u"invalid_request"_s, text, {{u"field"_s, field}});
}

/// Every field of a schedule with its JSON type.
const QHash<QString, QJsonValue::Type> &fieldTypes()
{
    static const QHash<QString, QJsonValue::Type> types{
        {u"id"_s, QJsonValue::String},          {u"title"_s, QJsonValue::String},
        {u"cron"_s, QJsonValue::String},        {u"interval_ms"_s, QJsonValue::Double},
        {u"zone"_s, QJsonValue::String},        {u"misfire"_s, QJsonValue::String},
        {u"misfire_cap"_s, QJsonValue::Double}, {u"overlap"_s, QJsonValue::String},
        {u"jitter_ms"_s, QJsonValue::Double},   {u"paused"_s, QJsonValue::Bool},
        {u"job"_s, QJsonValue::Object},
    };
    return types;
}

Result<> checkTypes(const QJsonObject &json)
{
    for (auto field = json.begin(); field != json.end(); ++field) {
        const auto type = fieldTypes().constFind(field.key());
        if (type == fieldTypes().cend())
            return refuse(field.key(), u"A schedule has no field \"%1\"."_s.arg(field.key()));
        if (field->type() != *type)
            return refuse(field.key(),
                          u"The field \"%1\" of a schedule has the wrong type."_s.arg(field.key()));
        if (field->isDouble() && (field->toDouble() < 0 || field->toDouble() != double(field->toInteger())))
            return refuse(field.key(), u"\"%1\" must be a whole number, 0 or more."_s.arg(field.key()));
    }
    return {};
}

Result<core::Trigger> triggerFrom(const QJsonObject &json)
{
    if (json.contains(u"cron") == json.contains(u"interval_ms"))
        return refuse(u"cron"_s, u"A schedule has either \"cron\" or \"interval_ms\"."_s);
    // Also beside an interval, where it has no effect yet: the pattern that may replace it will be read in it.
    const QByteArray zone = json[u"zone"].toString().toUtf8();
    if (const Result<core::Zone> found = core::Zone::find(zone); !found)
        return fail(found.error());
    if (json.contains(u"cron"))
        return core::Trigger::cron(json[u"cron"].toString(), zone);
    return core::Trigger::interval(json[u"interval_ms"].toInteger());
}

Result<core::Misfire> misfireFrom(const QString &name)
{
    if (name == u"coalesce")
        return core::Misfire::Coalesce;
    if (name == u"skip")
        return core::Misfire::Skip;
    if (name == u"each")
        return core::Misfire::Each;
    return refuse(u"misfire"_s, u"misfire must be \"coalesce\", \"skip\" or \"each\"."_s);
}

queue::JobSpec jobFrom(const QString &id, const QJsonObject &job)
{
    queue::JobSpec spec;
    spec.type = job[u"type"].toString();
    spec.payload = job[u"payload"].toObject();
    spec.dedupeKey = job[u"dedupe"].toString(u"schedule:"_s + id); // overlap is seen by this key
    spec.urgent = job[u"urgent"].toBool();
    return spec;
}

} // namespace

Result<Schedule> Schedule::fromJson(const QJsonObject &json)
{
    if (const auto types = checkTypes(json); !types)
        return fail(types.error());
    const QString id = json[u"id"].toString();
    if (id.isEmpty() || id.size() > 64)
        return refuse(u"id"_s, u"A schedule needs an id of 1 to 64 characters."_s);
    auto trigger = triggerFrom(json);
    if (!trigger)
        return fail(trigger.error());
    const auto misfire = misfireFrom(json[u"misfire"].toString(u"coalesce"_s));
    if (!misfire)
        return fail(misfire.error());
    const QString overlap = json[u"overlap"].toString(u"skip"_s);
    if (overlap != u"skip" && overlap != u"queue-one")
        return refuse(u"overlap"_s, u"overlap must be \"skip\" or \"queue-one\"."_s);
    const qint64 cap = json[u"misfire_cap"].toInteger(10);
    if (cap < 1 || cap > 1'000)
        return refuse(u"misfire_cap"_s, u"misfire_cap must be from 1 to 1,000."_s);
    const qint64 jitter = json[u"jitter_ms"].toInteger();
    if (jitter > 86'400'000)
        return refuse(u"jitter_ms"_s, u"jitter_ms must be at most a day."_s);
    const QJsonObject job = json[u"job"].toObject();
    if (job[u"type"].toString().isEmpty())
        return refuse(u"job"_s, u"The job of a schedule needs a \"type\"."_s);
    return Schedule{id,
                    json[u"title"].toString(id),
                    std::move(*trigger),
                    *misfire,
                    static_cast<int>(cap),
                    overlap == u"queue-one",
                    core::stableOffsetMs(id, jitter),
                    json[u"paused"].toBool(),
                    jobFrom(id, job),
                    job[u"queue"].toString()};
}

Result<QJsonObject> withChange(QJsonObject schedule, const QJsonObject &change)
{
    if (change.contains(u"cron"))
        schedule.remove(u"interval_ms"_s);
    if (change.contains(u"interval_ms"))
        schedule.remove(u"cron"_s);
    for (auto field = change.begin(); field != change.end(); ++field) {
        if (field.key() == u"id" || field.key() == u"job" || field.key() == u"title")
            return refuse(field.key(),
                          u"\"%1\" belongs to the plugin that declared the schedule."_s.arg(field.key()));
        schedule.insert(field.key(), *field);
    }
    return schedule;
}

} // namespace tidekeeper::scheduler
