// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedule.h"

#include "core/nearestname.h"

#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::scheduler {

namespace {

constexpr qsizetype longestTitle = 200;
constexpr qint64 mostJitterMs = 86'400'000;

tl::unexpected<Error> refuse(const QString &field, const QString &text)
{
    return fail(u"invalid_request"_s, text, {{u"field"_s, field}});
}

using Types = QMap<QString, QJsonValue::Type>;

const Types &scheduleFields()
{
    static const Types types{
        {u"id"_s, QJsonValue::String},          {u"title"_s, QJsonValue::String},
        {u"cron"_s, QJsonValue::String},        {u"interval_ms"_s, QJsonValue::Double},
        {u"zone"_s, QJsonValue::String},        {u"misfire"_s, QJsonValue::String},
        {u"misfire_cap"_s, QJsonValue::Double}, {u"overlap"_s, QJsonValue::String},
        {u"jitter_ms"_s, QJsonValue::Double},   {u"paused"_s, QJsonValue::Bool},
        {u"job"_s, QJsonValue::Object},
    };
    return types;
}

const Types &jobFields()
{
    static const Types types{
        {u"type"_s, QJsonValue::String},   {u"payload"_s, QJsonValue::Object},
        {u"dedupe"_s, QJsonValue::String}, {u"urgent"_s, QJsonValue::Bool},
        {u"queue"_s, QJsonValue::String},
    };
    return types;
}

QString nameOf(QJsonValue::Type type)
{
    switch (type) {
    case QJsonValue::String:
        return u"a text in quotes"_s;
    case QJsonValue::Double:
        return u"a whole number, 0 or more"_s;
    case QJsonValue::Bool:
        return u"true or false"_s;
    default:
        return u"an object"_s;
    }
}

bool isOf(QJsonValue::Type type, const QJsonValue &value)
{
    const bool isWhole = value.toDouble() >= 0 && value.toDouble() == double(value.toInteger());
    return value.type() == type && (!value.isDouble() || isWhole);
}

/// whose: "A schedule"; prefix: of the field's name in the refusal.
Result<> checkTypes(const QJsonObject &json, const Types &types, const QString &whose, const QString &prefix)
{
    for (auto field = json.begin(); field != json.end(); ++field) {
        const auto type = types.constFind(field.key());
        if (type == types.cend())
            return refuse(prefix + field.key(),
                          u"%1 has no field \"%2\".%3"_s.arg(whose, field.key(),
                                                             core::didYouMean(field.key(), types.keys())));
        if (!isOf(*type, *field))
            return refuse(prefix + field.key(),
                          u"\"%1\" must be %2."_s.arg(prefix + field.key(), nameOf(*type)));
    }
    return {};
}

/// Ids stand in paths, in names of settings and in Redis keys.
Result<> checkId(const QString &id)
{
    static const QRegularExpression allowed(u"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"_s);
    if (allowed.match(id).hasMatch())
        return {};
    return refuse(u"id"_s,
                  u"A schedule needs an \"id\" of 1 to 64 letters, digits, dots, hyphens and underscores "
                  u"that begins with a letter or digit."_s);
}

Result<> checkBounds(const QString &field, qint64 value, qint64 least, qint64 most)
{
    if (value >= least && value <= most)
        return {};
    return refuse(field, u"\"%1\" must be from %2 to %3."_s.arg(field).arg(least).arg(most));
}

Result<core::Trigger> triggerFrom(const QJsonObject &json)
{
    if (json.contains(u"cron") == json.contains(u"interval_ms"))
        return refuse(u"cron"_s, u"A schedule has either \"cron\" or \"interval_ms\"."_s);
    // Also beside an interval, where it has no effect yet: the pattern that may replace it will be read in it.
    const QByteArray zone = json[u"zone"].toString(u"UTC"_s).toUtf8();
    if (zone.isEmpty())
        return refuse(u"zone"_s, u"zone must be a name such as Europe/Zurich or UTC."_s);
    if (const Result<core::Zone> found = core::Zone::find(zone); !found)
        return fail(found.error());
    if (json.contains(u"cron"))
        return core::Trigger::cron(json[u"cron"].toString(), zone);
    return core::Trigger::interval(json[u"interval_ms"].toInteger());
}

/// The value's place among the words that the field may say; absent is the first.
Result<qsizetype> wordOf(const QJsonObject &json, const QString &field, const QStringList &words)
{
    const QString word = json[field].toString(words.first());
    if (const qsizetype at = words.indexOf(word); at >= 0)
        return at;
    return refuse(field,
                  u"\"%1\" must be one of \"%2\".%3"_s.arg(field, words.join(u"\", \""_s),
                                                           core::didYouMean(word, words)));
}

Result<queue::JobSpec> jobFrom(const QString &id, const QJsonObject &job)
{
    if (const Result<> sound = checkTypes(job, jobFields(), u"The job of a schedule"_s, u"job."_s); !sound)
        return fail(sound.error());
    if (job[u"type"].toString().isEmpty())
        return refuse(u"job"_s, u"A schedule needs a \"job\" with a \"type\"."_s);
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
    const QString id = json[u"id"].toString();
    const QString title = json[u"title"].toString(id);
    const qint64 cap = json[u"misfire_cap"].toInteger(10);
    const qint64 jitterMs = json[u"jitter_ms"].toInteger();
    for (const Result<> &sound : {checkTypes(json, scheduleFields(), u"A schedule"_s, {}), checkId(id),
                                  checkBounds(u"misfire_cap"_s, cap, 1, 1'000),
                                  checkBounds(u"jitter_ms"_s, jitterMs, 0, mostJitterMs)}) {
        if (!sound)
            return fail(sound.error());
    }
    if (title.size() > longestTitle)
        return refuse(u"title"_s, u"\"title\" must be at most %1 characters."_s.arg(longestTitle));
    auto trigger = triggerFrom(json);
    if (!trigger)
        return fail(trigger.error());
    const qint64 intervalMs = json[u"interval_ms"].toInteger();
    if (intervalMs > 0 && jitterMs >= intervalMs) // it would reach into the next tick
        return refuse(u"jitter_ms"_s,
                      u"\"jitter_ms\" must be less than interval_ms, which is %1."_s.arg(intervalMs));
    const auto misfire = wordOf(json, u"misfire"_s, {u"coalesce"_s, u"skip"_s, u"each"_s});
    if (!misfire)
        return fail(misfire.error());
    const auto overlap = wordOf(json, u"overlap"_s, {u"skip"_s, u"queue-one"_s});
    if (!overlap)
        return fail(overlap.error());
    const QJsonObject job = json[u"job"].toObject();
    auto spec = jobFrom(id, job);
    if (!spec)
        return fail(spec.error());
    return Schedule{.id = id,
                    .title = title,
                    .trigger = std::move(*trigger),
                    .misfire = core::Misfire(*misfire),
                    .misfireCap = static_cast<int>(cap),
                    .queueOne = *overlap == 1,
                    .jitterMs = jitterMs,
                    .offsetMs = core::stableOffsetMs(id, jitterMs),
                    .paused = json[u"paused"].toBool(),
                    .job = std::move(*spec),
                    .queue = job[u"queue"].toString()};
}

QJsonObject withDefaults(QJsonObject schedule)
{
    const QJsonObject defaults{{u"title"_s, schedule[u"id"]}, {u"zone"_s, u"UTC"_s},
                               {u"misfire"_s, u"coalesce"_s}, {u"misfire_cap"_s, 10},
                               {u"overlap"_s, u"skip"_s},     {u"jitter_ms"_s, 0},
                               {u"paused"_s, false}};
    for (auto field = defaults.begin(); field != defaults.end(); ++field) {
        if (!schedule.contains(field.key()))
            schedule.insert(field.key(), *field);
    }
    return schedule;
}

Result<> checkPatch(const QJsonObject &patch)
{
    QJsonObject set = patch;
    for (auto field = patch.begin(); field != patch.end(); ++field) {
        if (field.key() == u"id" || field.key() == u"job" || field.key() == u"title")
            return refuse(field.key(),
                          u"\"%1\" belongs to whoever declared the schedule."_s.arg(field.key()));
        if (field->isNull() && scheduleFields().contains(field.key()))
            set.remove(field.key());
    }
    return checkTypes(set, scheduleFields(), u"A schedule"_s, {});
}

QJsonObject withChange(QJsonObject schedule, const QJsonObject &change)
{
    if (change.contains(u"cron"))
        schedule.remove(u"interval_ms"_s);
    if (change.contains(u"interval_ms"))
        schedule.remove(u"cron"_s);
    for (auto field = change.begin(); field != change.end(); ++field)
        schedule.insert(field.key(), *field);
    return schedule;
}

QJsonObject withPatch(QJsonObject change, const QJsonObject &patch)
{
    if (patch.contains(u"cron"))
        change.remove(u"interval_ms"_s);
    if (patch.contains(u"interval_ms"))
        change.remove(u"cron"_s);
    for (auto field = patch.begin(); field != patch.end(); ++field) {
        if (field->isNull())
            change.remove(field.key());
        else
            change.insert(field.key(), *field);
    }
    return change;
}

} // namespace tidekeeper::scheduler
