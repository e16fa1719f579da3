// SPDX-License-Identifier: Apache-2.0
#include "redis/serverinfo.h"

#include <QtCore/QHash>

#include <algorithm>
#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

constexpr int leastMajorVersion = 7;
constexpr int fullPercent = 90;
constexpr int longestLagS = 10;

using Verdict = ServerInfo::Verdict;

class Fields {
public:
    explicit Fields(const QByteArray &info)
    {
        for (const QByteArray &line : info.split('\n')) {
            const qsizetype colon = line.indexOf(':');
            if (colon > 0 && !line.startsWith('#'))
                m_fields.insert(line.left(colon), line.mid(colon + 1).trimmed());
        }
    }

    QString text(const QByteArray &name) const { return QString::fromUtf8(m_fields.value(name)); }
    std::optional<qint64> number(const QByteArray &name) const
    {
        bool isNumber = false;
        const qint64 number = m_fields.value(name).toLongLong(&isNumber);
        return isNumber ? std::optional(number) : std::nullopt;
    }

private:
    QHash<QByteArray, QByteArray> m_fields;
};

ServerInfo::Finding eviction(const Fields &fields)
{
    const QString policy = fields.text("maxmemory_policy");
    if (policy.isEmpty())
        return {u"eviction"_s, Verdict::Unknown, u"The server does not tell its eviction policy."_s};
    if (policy == u"noeviction"_s)
        return {u"eviction"_s, Verdict::Safe, u"Nothing is evicted."_s};
    if (fields.number("maxmemory") == 0)
        return {u"eviction"_s, Verdict::Safe, u"Nothing is evicted: there is no memory limit."_s};
    return {u"eviction"_s, Verdict::Unsafe,
            u"The eviction policy is %1: under memory pressure the server drops jobs and limits. "
            "Set maxmemory-policy to noeviction."_s.arg(policy)};
}

ServerInfo::Finding persistence(const Fields &fields)
{
    const QString name = u"persistence"_s;
    const std::optional<qint64> isOn = fields.number("aof_enabled");
    if (!isOn)
        return {name, Verdict::Unknown, u"The server does not tell whether it keeps an append-only file."_s};
    if (*isOn == 0)
        return {
            name, Verdict::Unsafe,
            u"The append-only file is off: when the server stops, all jobs since its last snapshot are lost, "
            "if it makes any. Set appendonly to yes."_s};
    if (fields.text("aof_last_write_status") == u"err"_s)
        return {name, Verdict::Unsafe,
                u"The last write to the append-only file failed, and the server refuses writes. "
                "Look at its disk and its log."_s};
    if (fields.text("aof_last_bgrewrite_status") == u"err"_s)
        return {name, Verdict::Unsafe,
                u"The last rewrite of the append-only file failed: it grows until its disk is full. "
                "Look at its disk and its log."_s};
    return {name, Verdict::Safe, u"The append-only file is on."_s};
}

ServerInfo::Finding memory(const Fields &fields)
{
    const std::optional<qint64> used = fields.number("used_memory");
    const std::optional<qint64> limit = fields.number("maxmemory");
    const std::optional<qint64> most = limit == 0 ? fields.number("total_system_memory") : limit;
    if (!used || !most || *most == 0)
        return {u"memory"_s, Verdict::Unknown, u"The server does not tell its memory and its limit."_s};
    const qint64 percent = *used * 100 / *most;
    const QString what = limit == 0 ? u"the machine's memory"_s : u"its memory limit"_s;
    if (percent < fullPercent)
        return {u"memory"_s, Verdict::Safe, u"%1 % of %2 is in use."_s.arg(percent).arg(what)};
    const QString refuses =
        percent < 100 ? u"soon the server refuses writes"_s : u"the server refuses writes"_s;
    return {u"memory"_s, Verdict::Unsafe,
            u"%1 % of %2 is in use: %3. Raise maxmemory or give it more memory."_s.arg(percent).arg(what,
                                                                                                    refuses)};
}

ServerInfo::Finding age(const ServerInfo &info)
{
    if (info.version.isEmpty())
        return {u"version"_s, Verdict::Unknown, u"The server does not tell its version."_s};
    if (const Result<> supported = info.supported(); !supported)
        return {u"version"_s, Verdict::Unsafe, supported.error().text};
    return {u"version"_s, Verdict::Safe, u"%1 %2 has functions."_s.arg(info.product, info.version)};
}

/// Counts replicas that are up to date or nearly; one that stands still stays "online" for a minute and more.
ServerInfo::Finding replicas(const Fields &fields)
{
    const QString name = u"replicas"_s;
    const std::optional<qint64> connected = fields.number("connected_slaves");
    if (!connected)
        return {name, Verdict::Unknown, u"The server does not tell its replicas."_s};
    int live = 0;
    for (qint64 i = 0; i < *connected; ++i) {
        const QString replica = fields.text("slave" + QByteArray::number(i)) + u',';
        const int lagS = replica.section(u"lag="_s, 1).section(u',', 0, 0).toInt();
        if (replica.contains(u"state=online,"_s) && lagS <= longestLagS)
            ++live;
    }
    if (live > 0)
        return {name, Verdict::Safe, u"Connected replicas: %1."_s.arg(live)};
    return {name, Verdict::Unsafe,
            u"queue.durability is \"replicated\", but no replica is connected and up to date: no job is "
            "confirmed. Connect a replica, or set it to \"local\"."_s};
}

/// Subjects that are worth a word only when something is wrong.
QList<ServerInfo::Finding> troubles(const Fields &fields)
{
    QList<ServerInfo::Finding> found;
    if (fields.text("role") == u"slave"_s) {
        found.append({u"role"_s, Verdict::Unsafe,
                      u"The server is a replica and takes no writes. Point redis.url at the primary."_s});
    }
    if (fields.text("rdb_last_bgsave_status") == u"err"_s) {
        found.append(
            {u"snapshot"_s, Verdict::Unsafe,
             u"The last snapshot failed, and the server may refuse writes. Look at its disk and its log."_s});
    }
    return found;
}

} // namespace

ServerInfo ServerInfo::parse(const QByteArray &info, bool needsReplica)
{
    const Fields fields(info);
    ServerInfo parsed;
    // Valkey also says redis_version, the last one it is compatible with.
    parsed.version = fields.text("valkey_version");
    parsed.product = parsed.version.isEmpty() ? u"Redis"_s : u"Valkey"_s;
    if (parsed.version.isEmpty())
        parsed.version = fields.text("redis_version");
    parsed.processId = fields.number("process_id").value_or(0);
    parsed.findings =
        QList<Finding>{age(parsed), eviction(fields), persistence(fields), memory(fields)} + troubles(fields);
    if (needsReplica)
        parsed.findings.append(replicas(fields));
    return parsed;
}

ServerInfo ServerInfo::untold(const QString &why)
{
    ServerInfo info;
    info.product = u"Redis"_s;
    info.findings.append({u"info"_s, Verdict::Unknown,
                          u"Whether jobs and limits are safe with this server is not known: %1"_s.arg(why)});
    return info;
}

Result<> ServerInfo::supported() const
{
    const QString major = version.section(u'.', 0, 0);
    if (product != u"Redis"_s || major.isEmpty() || major.toInt() >= leastMajorVersion)
        return {};
    return fail(
        u"redis_too_old"_s,
        u"Redis %1 is too old: it has no functions. Use Redis 7.0 or later, or Valkey."_s.arg(version),
        {{u"version"_s, version}});
}

ServerInfo::Verdict ServerInfo::verdict() const
{
    Verdict worst = Verdict::Safe;
    for (const Finding &finding : findings)
        worst = std::max(worst, finding.verdict);
    return worst;
}

QList<ServerInfo::Finding> ServerInfo::changesSince(const ServerInfo &before) const
{
    const auto of = [](const ServerInfo &info, const QString &subject) {
        const auto found = std::find_if(info.findings.begin(), info.findings.end(),
                                        [&](const Finding &finding) { return finding.subject == subject; });
        return found == info.findings.end() ? Verdict::Safe : found->verdict;
    };
    QList<Finding> changes;
    for (const Finding &finding : findings) {
        if (finding.verdict != of(before, finding.subject))
            changes.append(finding);
    }
    for (const Finding &finding : before.findings) {
        const bool isGone = std::none_of(findings.begin(), findings.end(),
                                         [&](const Finding &now) { return now.subject == finding.subject; });
        if (isGone && finding.verdict != Verdict::Safe)
            changes.append({finding.subject, Verdict::Safe, u"No longer so: "_s + finding.text});
    }
    return changes;
}

QCoro::Task<Result<ServerInfo>> readServerInfo(RedisConnection &connection, int timeoutMs, bool needsReplica)
{
    const QList<QByteArray> command{"INFO"};
    const Result<Value> reply = co_await connection.command(command, timeoutMs);
    if (!reply)
        co_return fail(reply.error());
    if (reply->isError()) {
        co_return fail(
            u"redis_refused"_s,
            u"Redis refuses INFO: %1. Allow the command to this user."_s.arg(QString::fromUtf8(reply->text)));
    }
    co_return ServerInfo::parse(reply->text, needsReplica);
}

} // namespace tidekeeper::redis
