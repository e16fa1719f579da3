// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"

#include <QtCore/QDateTime>
#include <QtCore/QHash>
#include <QtCore/QJsonArray>

#include <cmath>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

QString counts(const QJsonObject &object, const QStringList &names)
{
    QStringList parts;
    for (const QString &name : names)
        parts.append(name + u' ' + number(object[name].toInteger()));
    return parts.join(u", "_s);
}

QString nearestExpiry(const QJsonValue &nearest, qint64 nowMs)
{
    if (!nearest.isObject())
        return u"none"_s;
    const qint64 at = nearest["expires_at"_L1].toInteger();
    return u"%1 (%2, account %3)"_s.arg(relative(at, nowMs), instant(at), nearest["account"_L1].toString());
}

QString redisLine(const QJsonObject &redis)
{
    if (!redis["connected"_L1].toBool())
        return u"not connected"_s;
    static const QHash<QString, QString> safety{{u"safe"_s, u"keeps jobs safe"_s},
                                                {u"unsafe"_s, u"UNSAFE"_s},
                                                {u"unknown"_s, u"not known whether it keeps jobs safe"_s}};
    QStringList words{u"connected"_s, redis["version"_L1].toString()};
    if (redis["embedded"_L1].toBool())
        words.append(u"embedded"_s);
    words.append(safety.value(redis["verdict"_L1].toString()));
    words.removeAll(QString());
    return words.join(u", "_s);
}

QString schedulerLine(const QJsonObject &scheduler, qint64 nowMs)
{
    QString leader = u"another engine leads"_s;
    if (scheduler["leader"_L1].toBool())
        leader = u"this engine leads"_s;
    else if (scheduler["no_leader"_L1].toBool())
        leader = u"no engine leads"_s;
    QStringList words{leader};
    if (const qint64 at = scheduler["last_tick_at"_L1].toInteger(); at != 0)
        words.append(u"last tick "_s + relative(at, nowMs));
    if (const qsizetype overdue = scheduler["overdue"_L1].toArray().size(); overdue > 0)
        words.append(number(overdue) + u" overdue"_s);
    if (const qsizetype orphaned = scheduler["orphaned"_L1].toArray().size(); orphaned > 0)
        words.append(number(orphaned) + u" orphaned"_s);
    return words.join(u", "_s);
}

QString pluginsLine(const QJsonObject &plugins)
{
    return u"%1 of %2 running"_s.arg(number(plugins["running"_L1].toInteger()),
                                     number(plugins["total"_L1].toInteger()));
}

QString lastScan(const QJsonObject &scan, qint64 nowMs)
{
    const qint64 at = scan["last_at"_L1].toInteger();
    return at == 0 ? u"none yet"_s : relative(at, nowMs);
}

/// Whether anything is renewed at all, and what stops some of it.
QString renewalLine(const QJsonObject &renewal)
{
    if (!renewal["has_provider"_L1].toBool())
        return u"nothing renews watches"_s;
    QStringList words{renewal["mode"_L1] == "observe"_L1 ? u"only observes"_s : u"renews"_s};
    const auto count = [&](const QString &key, const QString &what) {
        if (const qsizetype size = renewal[key].toArray().size(); size > 0)
            words.append(number(size) + u' ' + what);
    };
    count(u"breakers"_s, u"stopped by faults of configuration"_s);
    count(u"waves"_s, u"waves open"_s);
    count(u"pauses"_s, u"projects paused"_s);
    return words.join(u", "_s);
}

/// Cut, not rounded: what is not complete never looks like it.
QString share(const QJsonValue &value)
{
    return value.isDouble() ? u"%1 %"_s.arg(std::floor(value.toDouble() * 10'000) / 100, 0, 'f', 2)
                            : u"not known yet"_s;
}

QString coverageLine(const QJsonObject &coverage)
{
    return u"24 h %1, 30 days %2"_s.arg(share(coverage["share_24h"_L1]), share(coverage["share"_L1]));
}

QString clocksLine(const QJsonObject &skews)
{
    QStringList words;
    for (auto skew = skews.begin(); skew != skews.end(); ++skew)
        words.append(u"%1 %2 s"_s.arg(skew.key()).arg(skew->toDouble() / 1'000, 0, 'f', 1));
    return words.isEmpty() ? u"not compared yet"_s : u"apart from "_s + words.join(u", "_s);
}

/// What needs a person, in sentences.
QStringList attention(const QJsonObject &overview)
{
    QStringList sentences;
    for (const QJsonValue &problem : overview["problems"_L1].toArray())
        sentences.append(problem["text"_L1].toString());
    return sentences;
}

void printOverview(Session &session, const QJsonObject &overview)
{
    const QJsonObject accounts = overview["accounts"_L1].toObject();
    const qint64 nowMs = overview["now"_L1].toInteger(QDateTime::currentMSecsSinceEpoch());
    const auto line = [&](const QString &name, const QString &value) {
        session.print(name.leftJustified(16) + printable(value) + u'\n');
    };
    line(u"Engine"_s,
         u"%1%2"_s.arg(overview["version"_L1].toString(),
                       overview["leader"_L1].toBool() ? u", leader"_s : QString()));
    line(u"Accounts"_s, number(accounts["total"_L1].toInteger()));
    line(u"  by state"_s,
         counts(accounts["state"_L1].toObject(),
                {u"active"_s, u"paused"_s, u"needs_reauth"_s, u"parked"_s, u"leaving"_s}));
    line(u"Active watches"_s,
         counts(accounts["active_band"_L1].toObject(),
                {u"healthy"_s, u"delayed"_s, u"late"_s, u"critical"_s, u"expired"_s, u"none"_s}));
    line(u"  next to lapse"_s, nearestExpiry(accounts["nearest_expiry"_L1], nowMs));
    const QString due = number(accounts["due"_L1].toInteger());
    if (overview["renewal"_L1]["mode"_L1] == "observe"_L1)
        line(u"  would renew"_s, due + u" now: tidekeeper accounts list --due"_s);
    else
        line(u"  due now"_s, due);
    line(u"Renewal"_s, renewalLine(overview["renewal"_L1].toObject()));
    line(u"Coverage"_s, coverageLine(overview["coverage"_L1].toObject()));
    line(u"Last scan"_s, lastScan(overview["scan"_L1].toObject(), nowMs));
    line(u"Scheduler"_s, schedulerLine(overview["scheduler"_L1].toObject(), nowMs));
    for (const QJsonValue &queue : overview["queues"_L1].toArray())
        line(u"Queue "_s + queue["name"_L1].toString(),
             counts(queue.toObject(), {u"urgent"_s, u"normal"_s, u"delayed"_s, u"running"_s, u"dead"_s}));
    line(u"Redis"_s, redisLine(overview["redis"_L1].toObject()));
    line(u"Clocks"_s, clocksLine(overview["clock_skew_ms"_L1].toObject()));
    line(u"Plugins"_s, pluginsLine(overview["plugins"_L1].toObject()));
    for (const QString &sentence : attention(overview))
        line(u"ATTENTION"_s, sentence);
}

Result<ExitCode> status(Session &session)
{
    const Result<QJsonObject> overview = session.get(u"/api/v1/overview"_s);
    if (!overview)
        return fail(overview.error());
    if (session.json)
        session.print(*overview);
    else
        printOverview(session, *overview);
    return attention(*overview).isEmpty() ? ExitCode::Ok : ExitCode::Attention;
}

} // namespace

void addStatus(CLI::App &app, Session &session)
{
    CLI::App *command = app.add_subcommand("status", "How the engine is; exit code 4 when it needs a person");
    session.onCalled(command, [&session] { return status(session); });
}

} // namespace tidekeeper::cli
