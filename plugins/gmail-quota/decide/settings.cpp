// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include "nearest.h"

#include <QtCore/QJsonArray>

#include <cmath>

using namespace Qt::StringLiterals;
using tidekeeper::Status;

namespace gmailquota {

namespace {

struct Key {
    enum class Kind : quint8 { Flag, Share, Number, Milliseconds };

    QLatin1StringView name;
    Kind kind;
    double fallback;
    double least = 0;
    double most = 1;

    QJsonValue defaultValue() const
    {
        return kind == Kind::Flag ? QJsonValue(fallback != 0) : QJsonValue(fallback);
    }
};

// As in ConfigSchema of gmail-quota.json.in, which speaks for the file; a test compares the two.
constexpr Key keys[] = {
    {"enforce"_L1, Key::Kind::Flag, 1},
    {"fail_open"_L1, Key::Kind::Flag, 1},
    {"local_fallback"_L1, Key::Kind::Flag, 1},
    {"bulk_reserve"_L1, Key::Kind::Share, 0.5, 0, 0.95},
    {"project_bulk_reserve"_L1, Key::Kind::Share, 0.2, 0, 0.95},
    {"send_slack"_L1, Key::Kind::Milliseconds, 2'000, 0, 60'000},
    {"key_ttl"_L1, Key::Kind::Milliseconds, 3'600'000, 60'000, 604'800'000},
    {"slots"_L1, Key::Kind::Number, 10, 1, 1'000},
};

/// Texts that count at the start only: with other names every account would have another bucket.
struct StartKey {
    QLatin1StringView name;
    QLatin1StringView fallback;
};

constexpr StartKey startKeys[] = {
    {"account_key"_L1, "base64url"_L1},
    {"account_key_file"_L1, ""_L1},
};

constexpr auto projectsKey = "projects"_L1;
constexpr auto operators = "operator"_L1;

Status checkValue(const Key &key, const QJsonValue &value)
{
    if (key.kind == Key::Kind::Flag)
        return value.isBool() ? Status::success() : badValue(key.name, u"must be true or false."_s);
    const double number = value.toDouble(NAN);
    const bool inRange = number >= key.least && number <= key.most;
    if (inRange && (key.kind == Key::Kind::Share || number == std::floor(number)))
        return Status::success();
    const QString range = u"from %1 to %2."_s.arg(key.least, 0, 'g', 10).arg(key.most, 0, 'g', 10);
    switch (key.kind) {
    case Key::Kind::Share:
        return badValue(key.name, u"must be a number "_s + range);
    case Key::Kind::Milliseconds:
        return badValue(key.name, u"must be a whole number of milliseconds "_s + range);
    default:
        return badValue(key.name, u"must be a whole number "_s + range);
    }
}

Status unknownKey(const QString &key, const QStringList &known)
{
    Status status = badValue(key, u"is not a setting that can be changed here."_s + didYouMean(key, known));
    status.details[u"near"_s] = QJsonArray::fromStringList(nearestOf(key, known));
    return status;
}

Status checkNames(const QJsonObject &changes, const QStringList &known)
{
    for (const QString &key : changes.keys()) {
        if (!known.contains(key))
            return unknownKey(key, known);
    }
    return Status::success();
}

void takeFromFile(const QJsonObject &section, QLatin1StringView name, const QJsonValue &fallback,
                  Settings *settings)
{
    const QJsonValue value = section[name];
    const bool given = !value.isUndefined() && value != fallback;
    settings->section[name] = given ? value : fallback;
    settings->sources[name] = given ? "file"_L1 : "default"_L1;
}

/// Projects that have no number of places of their own take the section's.
void spreadPlaces(Settings *settings)
{
    for (ProjectQuota &quota : settings->projects) {
        quota.places = settings->section["slots"_L1].toInteger();
        quota.sources[u"slots"_s] = settings->sources["slots"_L1];
    }
}

/// A bucket slowed down to a quarter of its pace must not be forgotten before it is full.
bool expiresTooEarly(qint64 keyTtlMs, qint64 capacity, qint64 refill)
{
    return keyTtlMs * refill <= 4 * capacity * 60'000;
}

/// changes: of operators, to name the field that they changed.
Status checkKeyTtl(const Settings &settings, const QJsonObject &changes)
{
    const qint64 keyTtlMs = settings.section["key_ttl"_L1].toInteger();
    for (auto quota = settings.projects.begin(); quota != settings.projects.end(); ++quota) {
        QString scope;
        if (expiresTooEarly(keyTtlMs, quota->accountCapacity, quota->accountRefill))
            scope = u"account"_s;
        else if (expiresTooEarly(keyTtlMs, quota->projectCapacity, quota->projectRefill))
            scope = u"project"_s;
        else
            continue;
        const QJsonObject changed = changes[projectsKey][quota.key()].toObject();
        const QString refill = scope + u"_refill_per_minute"_s;
        QString field = u"key_ttl"_s;
        if (!changes.contains(field) && !changed.isEmpty())
            field = u"projects.%1.%2"_s.arg(quota.key(),
                                            changed.contains(refill) ? refill : scope + u"_capacity"_s);
        const QString text =
            u"does not go with the rest: key_ttl has to be longer than 4 × capacity ÷ refill of "
            "the %1 bucket of project \"%2\", or a bucket could be forgotten before it is full."_s;
        return badValue(field, text.arg(scope, quota.key()));
    }
    return Status::success();
}

Status adjustProjects(const QJsonValue &changes, Settings *settings)
{
    if (!changes.isUndefined() && !changes.isObject())
        return badValue(projectsKey, u"must be an object of projects by name."_s);
    const QJsonObject projects = changes.toObject();
    for (auto project = projects.begin(); project != projects.end(); ++project) {
        const QString path = u"projects."_s + project.key();
        const auto quota = settings->projects.find(project.key());
        if (quota == settings->projects.end())
            return badValue(
                path, u"is not configured; there are: %1."_s.arg(settings->projects.keys().join(u", "_s)));
        if (!project->isObject())
            return badValue(path, u"must be an object of limits."_s);
        Status status = checkNames(project->toObject(), limitNames());
        if (status.ok())
            status = replaceLimits(project->toObject(), operators, &*quota);
        if (!status.ok())
            return within(path, status.code, status);
    }
    return Status::success();
}

Status adjustSection(const QJsonObject &changes, Settings *settings)
{
    for (const StartKey &key : startKeys) {
        if (changes.contains(key.name)) {
            return badValue(key.name,
                            u"changes only at start: set it in the configuration file of all engines and "
                            "restart them together."_s);
        }
    }
    QStringList known{projectsKey};
    for (const Key &key : keys)
        known.append(key.name);
    if (const Status status = checkNames(changes, known); !status.ok())
        return status;
    for (const Key &key : keys) {
        if (!changes.contains(key.name))
            continue;
        if (const Status status = checkValue(key, changes[key.name]); !status.ok())
            return status;
        settings->section[key.name] = changes[key.name];
        settings->sources[key.name] = operators;
    }
    return Status::success();
}

} // namespace

Status settingsOf(const QJsonObject &section, const QJsonObject &projects, Settings *settings)
{
    for (const Key &key : keys)
        takeFromFile(section, key.name, key.defaultValue(), settings);
    for (const StartKey &key : startKeys)
        takeFromFile(section, key.name, QString(key.fallback), settings);
    for (auto project = projects.begin(); project != projects.end(); ++project) {
        ProjectQuota quota;
        if (const Status status = quotaOf(project.key(), project->toObject(), &quota); !status.ok())
            return status;
        settings->projects.insert(project.key(), quota);
    }
    spreadPlaces(settings);
    const Status status = checkKeyTtl(*settings, {});
    return status.ok() ? status : within(u"plugins.gmail-quota"_s, u"bad_configuration"_s, status);
}

Status adjust(const QJsonObject &changes, Settings *settings)
{
    Settings adjusted = *settings;
    Status status = adjustSection(changes, &adjusted);
    spreadPlaces(&adjusted);
    if (status.ok())
        status = adjustProjects(changes[projectsKey], &adjusted);
    if (status.ok())
        status = checkKeyTtl(adjusted, changes);
    if (!status.ok())
        return Status::failure(u"invalid_settings"_s, status.text, status.details);
    *settings = adjusted;
    return status;
}

} // namespace gmailquota
