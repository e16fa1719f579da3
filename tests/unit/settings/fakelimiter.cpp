// SPDX-License-Identifier: Apache-2.0
#include "settings/fakelimiter.h"

#include <QtCore/QJsonDocument>

#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

namespace {

QJsonObject parsed(const QByteArray &json)
{
    return QJsonDocument::fromJson(json).object();
}

const QByteArray schemaJson = R"({
    "type": "object", "additionalProperties": false, "properties": {
        "enforce": {"type": "boolean", "default": true},
        "fail_open": {"type": "boolean", "default": true},
        "local_fallback": {"type": "boolean", "default": true},
        "bulk_reserve": {"type": "number", "minimum": 0, "maximum": 0.95, "default": 0.5},
        "send_slack": {"type": "integer", "format": "duration", "minimum": 0, "maximum": 60000, "default": 2000},
        "key_ttl": {"type": "integer", "format": "duration", "minimum": 60000, "default": 3600000},
        "slots": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10}}})";

const QByteArray policyJson = R"({
    "account_capacity": 360, "account_refill_per_minute": 5450, "project_capacity": 72000,
    "project_refill_per_minute": 1090000, "published_account": 6000, "published_project": 1200000,
    "bulk_reserve": 0.5, "project_bulk_reserve": 0.2, "key_ttl_ms": 3600000, "send_slack_ms": 2000,
    "fail_open": true, "enforce": true, "slots": 10, "day_budget": 80000000, "day_action": "warn"})";

QJsonObject projectWith(const QJsonObject &changes, const QString &name)
{
    QJsonObject project = parsed(policyJson);
    const QJsonObject own = changes["projects"_L1][name].toObject();
    for (auto limit = own.begin(); limit != own.end(); ++limit)
        project[limit.key()] = limit.value();
    return project;
}

} // namespace

QJsonObject FakeLimiter::describe() const
{
    const QJsonObject projects{{u"default"_s, projectWith(adjusted, u"default"_s)},
                               {u"other"_s, projectWith(adjusted, u"other"_s)}};
    return {{u"name"_s, u"gmail"_s}, {u"projects"_s, projects}};
}

void FakeLimiter::acquire(const QuotaRequest &, QuotaReply *reply)
{
    ++asked;
    QuotaAnswer answer;
    answer.granted = true;
    reply->finish(Status::success(), answer);
}

Status FakeLimiter::check(const QJsonObject &settings) const
{
    const qint64 ttlMs = settings["key_ttl"_L1].toInteger(3'600'000);
    for (const QString &name : {u"default"_s, u"other"_s}) {
        const qint64 capacity = projectWith(settings, name)["account_capacity"_L1].toInteger();
        if (capacity > 1'000)
            return Status::failure(u"invalid_settings"_s, u"account_capacity is too large."_s,
                                   {{u"field"_s, u"projects.%1.account_capacity"_s.arg(name)}});
        if (ttlMs <= capacity * 1'000)
            return Status::failure(u"invalid_settings"_s, u"key_ttl is too short."_s,
                                   {{u"field"_s, u"key_ttl"_s}});
    }
    return Status::success();
}

void FakeLimiter::adjust(const QJsonObject &settings, bool dryRun, Reply *reply)
{
    Status status = check(settings);
    if (!dryRun) {
        ++adjustments;
        if (status.ok())
            status = std::exchange(nextAdjustment, Status());
        if (status.ok())
            adjusted = settings;
    }
    reply->finish(status, {});
}

settings::LimiterProfile FakeLimiter::profile()
{
    settings::LimiterProfile profile;
    profile.limiter = this;
    profile.live = this;
    profile.schema = parsed(schemaJson);
    profile.section = {{u"send_slack"_s, 1'000}};
    profile.projects = {{u"other"_s, QJsonObject{{u"account_capacity"_s, 360}}}};
    return profile;
}

EngineSide::EngineSide(store::Database &database, const QString &redisUrl)
    : connection(*redis::Endpoint::fromUrl(redisUrl)),
      library(connection, "tidekeeper_quota", limits::libraryCode()), buckets(connection, library, clock),
      overrides(connection, library, buckets.projects()), store(database),
      settings(store, registry, overrides, clock)
{
    registry.add(&limiter);
}

void EngineSide::start()
{
    QCoro::waitFor(settings.take(limiter.profile()));
    settings.start();
}

Result<> EngineSide::change(const QJsonObject &patch, const QString &actor)
{
    return QCoro::waitFor(settings.change(u"gmail"_s, patch, actor));
}

Result<> EngineSide::putOverride(const settings::OverrideName &name, const QJsonObject &limits)
{
    return QCoro::waitFor(settings.putOverride(u"gmail"_s, name, limits, u"kim"_s));
}

Result<> EngineSide::removeOverride(const settings::OverrideName &name)
{
    return QCoro::waitFor(settings.removeOverride(u"gmail"_s, name, u"kim"_s));
}

const settings::LimiterState &EngineSide::state() const
{
    return **settings.find(u"gmail"_s);
}

} // namespace tidekeeper::test
