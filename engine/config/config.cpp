// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include "config/sectionreader.h"

#include <QtCore/QFile>
#include <QtCore/QFileInfo>
#include <QtCore/QJsonArray>
#include <QtCore/QRegularExpression>
#include <QtCore/QUrl>

using namespace Qt::StringLiterals;

namespace tidekeeper::config {

namespace {

constexpr qint64 largestUnits = 1'000'000'000; // per minute or as capacity
constexpr qint64 largestDayUnits = 1'000'000'000'000;
constexpr qint64 mostJobsInHand = 64;

void checkFile(SectionReader &section, const QString &key, const QString &path)
{
    const QFileInfo file(path);
    if (!path.isEmpty() && !file.isReadable())
        section.fault(key, u"names the file \"%1\", which does not exist or cannot be read."_s.arg(path));
    else if (!path.isEmpty() && file.size() == 0)
        section.fault(key, u"names the file \"%1\", which is empty."_s.arg(path));
}

QString url(SectionReader &section, const QString &key, const QString &fallback, const QStringList &schemes)
{
    const QString text = section.text(key, fallback);
    const QString scheme = text.section(u':', 0, 0);
    if (!text.isEmpty() && (!schemes.contains(scheme) || !QUrl(text).isValid()))
        section.fault(key, u"must be an address that begins with %1."_s.arg(schemes.join(u": or "_s) + u':'));
    return text;
}

/// In milliseconds, from shortest to longest.
qint64 durationOf(SectionReader &section, const QString &key, const QString &shortest, const QString &longest,
                  const QString &fallback)
{
    const Result<qint64> ms = parseDuration(section.text(key, fallback));
    if (ms && *ms >= parseDuration(shortest).value() && *ms <= parseDuration(longest).value())
        return *ms;
    section.fault(
        key, u"must be a duration from \"%1\" to \"%2\", such as \"%3\"."_s.arg(shortest, longest, fallback));
    return parseDuration(fallback).value();
}

HttpConfig readHttp(SectionReader section)
{
    static const QRegularExpression hostPort(u"^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):(\\d{1,5})$"_s);
    HttpConfig http;
    http.listen = section.text(u"listen"_s, http.listen);
    const QRegularExpressionMatch match = hostPort.match(http.listen);
    if (!match.hasMatch() || match.captured(2).toInt() > 65'535)
        section.fault(u"listen"_s, u"must be HOST:PORT, such as \"127.0.0.1:8787\" or \"[::1]:8787\"."_s);
    http.tlsCert = section.text(u"tls_cert"_s);
    http.tlsKey = section.text(u"tls_key"_s);
    http.allowPlainRemote = section.boolean(u"allow_plain_remote"_s, false);
    checkFile(section, u"tls_cert"_s, http.tlsCert);
    checkFile(section, u"tls_key"_s, http.tlsKey);
    if (http.tlsCert.isEmpty() != http.tlsKey.isEmpty())
        section.fault(http.tlsCert.isEmpty() ? u"tls_cert"_s : u"tls_key"_s,
                      u"is missing: TLS needs both tls_cert and tls_key."_s);
    section.refuseUnknown();
    return http;
}

RedisConfig readRedis(SectionReader section)
{
    RedisConfig redis;
    redis.url = url(section, u"url"_s, {}, {u"redis"_s, u"rediss"_s, u"unix"_s});
    redis.caFile = section.text(u"ca_file"_s);
    redis.username = section.text(u"username"_s);
    redis.passwordFile = section.text(u"password_file"_s);
    checkFile(section, u"ca_file"_s, redis.caFile);
    checkFile(section, u"password_file"_s, redis.passwordFile);
    section.refuseUnknown();
    return redis;
}

DatabaseConfig readDatabase(SectionReader section)
{
    DatabaseConfig database;
    database.url = url(section, u"url"_s, {}, {u"sqlite"_s, u"postgres"_s, u"postgresql"_s});
    section.refuseUnknown();
    return database;
}

QueueConfig readQueue(SectionReader section, const RedisConfig &redis)
{
    const QString replicated = u"replicated"_s;
    QueueConfig queue;
    queue.replicated = section.oneOf(u"durability"_s, {u"local"_s, replicated}, u"local"_s) == replicated;
    if (queue.replicated && redis.url.isEmpty())
        section.fault(u"durability"_s,
                      u"can only be \"replicated\" with redis.url: the private server has no replica."_s);
    queue.leaseMs = static_cast<int>(durationOf(section, u"lease"_s, u"1s"_s, u"1m"_s, u"10s"_s));
    queue.consumers = section.wholeNumber(u"consumers"_s, 1, mostJobsInHand).toInt(queue.consumers);
    queue.prefetch = section.wholeNumber(u"prefetch"_s, 1, mostJobsInHand).toInt(queue.prefetch);
    section.refuseUnknown();
    return queue;
}

ClientConfig readClient(SectionReader section)
{
    ClientConfig client;
    client.clientId = section.text(u"client_id"_s);
    client.clientSecretFile = section.text(u"client_secret_file"_s);
    if (client.clientId.isEmpty())
        section.fault(u"client_id"_s, u"is missing: write the OAuth client's id."_s);
    checkFile(section, u"client_secret_file"_s, client.clientSecretFile);
    section.refuseUnknown();
    return client;
}

void takeGiven(const QString &key, const QJsonValue &value, QJsonObject &limits)
{
    if (!value.isUndefined())
        limits.insert(key, value);
}

/// {method: units}.
QJsonObject readCosts(SectionReader section)
{
    static const QRegularExpression methodForm(u"^gmail\\.[A-Za-z]+(\\.[A-Za-z]+)+$"_s);
    QJsonObject costs;
    for (const QString &method : section.raw().keys()) {
        if (!methodForm.match(method).hasMatch())
            section.fault(
                method, u"is no method: write its full name in quotes, \"gmail.users.labels.patch\" = 5."_s);
        takeGiven(method, section.wholeNumber(method, 0, largestUnits), costs);
    }
    return costs;
}

/// What only the preset "custom" may say, because elsewhere limits and costs travel together.
void readCustom(SectionReader &section, bool isCustom, QJsonObject &limits)
{
    QJsonObject given;
    takeGiven(u"costs"_s, section.choice(u"costs"_s, {u"gmail-2026"_s, u"gmail-legacy"_s}), given);
    for (const QString &key : {u"published_account"_s, u"published_project"_s})
        takeGiven(key, section.wholeNumber(key, 0, largestUnits), given);
    if (section.contains(u"method_costs"_s))
        given.insert(u"method_costs"_s, readCosts(section.section(u"method_costs"_s)));
    for (auto it = given.begin(); it != given.end(); ++it) {
        if (isCustom)
            limits.insert(it.key(), it.value());
        else
            section.fault(it.key(), u"belongs to preset = \"custom\": set that, or leave this out."_s);
    }
}

/// The keys that were written, for the limiter.
QJsonObject readLimits(SectionReader &section, const QString &preset)
{
    const bool isCustom = preset == "custom"_L1;
    QJsonObject limits;
    for (const QString &key : {u"account_capacity"_s, u"account_refill_per_minute"_s, u"project_capacity"_s,
                               u"project_refill_per_minute"_s}) {
        if (isCustom && !section.contains(key))
            section.fault(key,
                          u"is missing: preset = \"custom\" needs capacity and refill of both buckets."_s);
        takeGiven(key, section.wholeNumber(key, 1, largestUnits), limits);
    }
    takeGiven(u"day_budget"_s, section.wholeNumber(u"day_budget"_s, 0, largestDayUnits), limits);
    takeGiven(u"day_action"_s, section.choice(u"day_action"_s, {u"warn"_s, u"refuse-bulk"_s, u"refuse"_s}),
              limits);
    readCustom(section, isCustom, limits);
    return limits;
}

ProjectConfig readProject(SectionReader section)
{
    static const QRegularExpression topicForm(u"^projects/[^/]+/topics/[^/]+$"_s);
    ProjectConfig project;
    project.projectId = section.text(u"project_id"_s);
    project.topic = section.text(u"topic"_s);
    if (!project.topic.isEmpty() && !topicForm.match(project.topic).hasMatch())
        section.fault(u"topic"_s, u"must have the form \"projects/PROJECT/topics/TOPIC\"."_s);
    project.preset =
        section.oneOf(u"preset"_s, {u"gmail-2026"_s, u"gmail-legacy"_s, u"custom"_s}, project.preset);
    project.limits = readLimits(section, project.preset);
    SectionReader clients = section.section(u"clients"_s);
    for (const QString &name : clients.sectionNames())
        project.clients.insert(name, readClient(clients.section(name)));
    clients.refuseUnknown();
    section.refuseUnknown();
    return project;
}

GoogleConfig readGoogle(SectionReader section)
{
    const QStringList web{u"https"_s, u"http"_s};
    GoogleConfig google;
    google.oauthUrl = url(section, u"oauth_url"_s, google.oauthUrl, web);
    google.gmailUrl = url(section, u"gmail_url"_s, google.gmailUrl, web);
    google.fcmUrl = url(section, u"fcm_url"_s, google.fcmUrl, web);
    SectionReader projects = section.section(u"projects"_s);
    for (const QString &name : projects.sectionNames())
        google.projects.insert(name, readProject(projects.section(name)));
    projects.refuseUnknown();
    if (!google.projects.contains(u"default"_s))
        google.projects.insert(u"default"_s, ProjectConfig());
    section.refuseUnknown();
    return google;
}

PushConfig readPush(SectionReader section)
{
    PushConfig push;
    push.provenWithinMs = durationOf(section, u"proven_within"_s, u"1s"_s, u"1h"_s, u"2m"_s);
    push.brokenAfterMs = durationOf(section, u"broken_after"_s, u"1s"_s, u"1d"_s, u"10m"_s);
    push.audience = section.text(u"audience"_s);
    push.serviceAccount = section.text(u"service_account"_s);
    push.certsUrl = url(section, u"certs_url"_s, push.certsUrl, {u"https"_s, u"http"_s});
    if (push.audience.isEmpty() != push.serviceAccount.isEmpty())
        section.fault(push.audience.isEmpty() ? u"audience"_s : u"service_account"_s,
                      u"is missing: Pub/Sub's pushes are checked for both audience and service_account."_s);
    if (push.certsUrl.isEmpty())
        section.fault(u"certs_url"_s, u"must name where Google's keys are; leave it out for the default."_s);
    section.refuseUnknown();
    return push;
}

LogConfig readLog(SectionReader section)
{
    LogConfig log;
    log.level = section.oneOf(u"level"_s, {u"debug"_s, u"info"_s, u"warning"_s, u"error"_s}, log.level);
    log.format = section.oneOf(u"format"_s, {u"text"_s, u"json"_s}, log.format);
    section.refuseUnknown();
    return log;
}

/// Plugin sections are checked by each plugin's schema; only durations are made numbers here.
QJsonObject withDurationsInMs(QJsonObject section)
{
    for (auto it = section.begin(); it != section.end(); ++it) {
        if (it.value().isObject())
            it.value() = withDurationsInMs(it.value().toObject());
        else if (const Result<qint64> ms = parseDuration(it.value().toString()))
            it.value() = *ms;
    }
    return section;
}

Result<> together(const QList<Error> &faults)
{
    if (faults.isEmpty())
        return {};
    if (faults.size() == 1)
        return fail(faults.first());
    QStringList texts;
    QJsonArray fields;
    for (const Error &fault : faults) {
        texts.append(fault.text);
        fields.append(fault.details.value("field"_L1));
    }
    return fail(u"invalid_config"_s, texts.join(u'\n'), {{u"fields"_s, fields}});
}

Result<Document> readDocument(const QString &file)
{
    if (file.isEmpty())
        return Document();
    QFile input(file);
    if (!input.open(QIODevice::ReadOnly))
        return fail(u"config_unreadable"_s,
                    u"The configuration file \"%1\" cannot be read: %2."_s.arg(file, input.errorString()));
    return readToml(input.readAll(), file);
}

} // namespace

Result<Config> Config::load(const QString &file, const QMap<QString, QString> &environment)
{
    Result<Document> document = readDocument(file);
    if (!document)
        return fail(document.error());
    applyEnvironment(*document, environment);

    QList<Error> faults;
    SectionReader root(*document, faults);
    Config config;
    config.http = readHttp(root.section(u"http"_s));
    config.redis = readRedis(root.section(u"redis"_s));
    config.database = readDatabase(root.section(u"database"_s));
    config.queue = readQueue(root.section(u"queue"_s), config.redis);
    config.google = readGoogle(root.section(u"google"_s));
    config.push = readPush(root.section(u"push"_s));
    config.log = readLog(root.section(u"log"_s));
    config.sealingKeyFile = root.text(u"sealing_key_file"_s);
    checkFile(root, u"sealing_key_file"_s, config.sealingKeyFile);
    config.pluginPath = root.texts(u"plugin_path"_s);
    SectionReader plugins = root.section(u"plugins"_s);
    for (const QString &id : plugins.sectionNames())
        config.plugins.insert(id, withDurationsInMs(plugins.section(id).raw()));
    plugins.refuseUnknown();
    root.refuseUnknown();

    if (Result<> checked = together(faults); !checked)
        return fail(checked.error());
    return config;
}

} // namespace tidekeeper::config
