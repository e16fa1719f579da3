// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/table.h"

#include <QtCore/QJsonArray>

#include <algorithm>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr auto right = Table::Align::Right;
constexpr int barCells = 10;
constexpr qsizetype mostCallers = 10;
const QString none = u"–"_s;

struct Options {
    std::string limiter = "gmail";
    std::string filter;
    std::string account;
    std::string project;
    int limit = 50;
};

/// "█████░░░░░ 50 %"; below zero the bar is empty.
QString fullness(const QJsonObject &bucket)
{
    const qint64 level = bucket["level"_L1].toInteger();
    const qint64 capacity = bucket["capacity"_L1].toInteger();
    if (capacity <= 0)
        return none;
    const auto cells = qsizetype(std::clamp(level * barCells / capacity, qint64(0), qint64(barCells)));
    return QString(cells, u'█') + QString(barCells - cells, u'░') + u" %1 %"_s.arg(100 * level / capacity);
}

QString pace(const QJsonObject &bucket)
{
    return u"%1 %"_s.arg(qRound(100 * bucket["pace"_L1].toDouble(1)));
}

/// Until when which calls are refused.
QString frozen(const QJsonObject &bucket, qint64 nowMs)
{
    QStringList parts;
    if (const QJsonValue until = bucket["frozen_until"_L1]; until.isDouble()) {
        parts.append(bucket["probe"_L1].toBool()     ? u"probe is out"_s
                         : until.toInteger() > nowMs ? relative(until.toInteger(), nowMs)
                                                     : u"waits for a probe"_s);
    }
    for (const QJsonValue &family : bucket["frozen_families"_L1].toArray())
        parts.append(family["family"_L1].toString() + u' ' + relative(family["until"_L1].toInteger(), nowMs));
    return parts.isEmpty() ? none : parts.join(u", "_s);
}

QString units(const QJsonValue &value)
{
    return value.isDouble() ? number(value.toInteger()) : none;
}

QString lane(const QJsonObject &bucket, QLatin1StringView name)
{
    return number(bucket["lanes"_L1][name]["units"_L1].toInteger());
}

void printProjects(Session &session, const QJsonArray &projects, qint64 nowMs)
{
    Table table({{u"PROJECT"_s},
                 {u"LEVEL"_s, right},
                 {u"CAPACITY"_s, right},
                 {u"FULL"_s},
                 {u"PACE"_s, right},
                 {u"FROZEN"_s},
                 {u"TODAY"_s, right},
                 {u"24 H"_s, right},
                 {u"FORECAST"_s, right},
                 {u"BUDGET"_s, right}});
    QStringList warnings;
    for (const QJsonValue &value : projects) {
        const QJsonObject project = value.toObject();
        const QJsonObject day = project["day"_L1].toObject();
        table.add({project["project"_L1].toString(), units(project["level"_L1]),
                   units(project["capacity"_L1]), fullness(project), pace(project), frozen(project, nowMs),
                   units(day["units"_L1]), units(day["last_24h"_L1]), units(day["forecast"_L1]),
                   units(day["budget"_L1])});
        if (const QString warning = project["booked"_L1]["warning"_L1].toString(); !warning.isEmpty())
            warnings.append(u"Project \"%1\": %2"_s.arg(project["project"_L1].toString(), warning));
    }
    session.print(table.text());
    for (const QString &warning : warnings)
        session.print(u"Warning: %1\n"_s.arg(printable(warning)));
}

void printUses(Session &session, const QJsonArray &uses)
{
    if (uses.isEmpty())
        return;
    Table table({{u"CALLER"_s}, {u"LANE"_s}, {u"UNITS"_s, right}, {u"CALLS"_s, right}});
    for (qsizetype i = 0; i < std::min(mostCallers, uses.size()); ++i) {
        const QJsonValue use = uses[i];
        const QString caller = use["caller"_L1].toString();
        table.add({caller.isEmpty() ? u"(no tag)"_s : caller, use["lane"_L1].toString(),
                   number(use["units"_L1].toInteger()), number(use["calls"_L1].toInteger())});
    }
    session.print(u"\nGranted in the last minute:\n"_s + table.text());
}

void printAccounts(Session &session, const QJsonArray &accounts, qint64 nowMs)
{
    Table table({{u"ACCOUNT"_s},
                 {u"PROJECT"_s},
                 {u"LEVEL"_s, right},
                 {u"CAPACITY"_s, right},
                 {u"FULL"_s},
                 {u"PACE"_s, right},
                 {u"FROZEN"_s},
                 {u"REALTIME"_s, right},
                 {u"BULK"_s, right},
                 {u"HELD"_s, right}});
    for (const QJsonValue &value : accounts) {
        const QJsonObject account = value.toObject();
        const QString own = account["override"_L1].toBool() ? u"*"_s : QString();
        // Who it is may be hidden: then the name of its key.
        const QString who = account["account"_L1].toString(account["key"_L1].toString());
        table.add({who, account["project"_L1].toString(), units(account["level"_L1]),
                   units(account["capacity"_L1]) + own, fullness(account), pace(account),
                   frozen(account, nowMs), lane(account, "realtime"_L1), lane(account, "bulk"_L1),
                   units(account["held"_L1])});
    }
    session.print(u'\n' + table.text());
}

Result<ExitCode> showAll(Session &session, const Options &options)
{
    QUrlQuery query;
    query.addQueryItem(u"limit"_s, QString::number(options.limit));
    if (!options.filter.empty())
        query.addQueryItem(u"q"_s, segment(options.filter));
    const QString path = u"/api/v1/limiters/%1/buckets"_s.arg(segment(options.limiter));
    const Result<QJsonObject> levels = session.get(path, query);
    if (!levels)
        return fail(levels.error());
    if (session.json) {
        session.print(*levels);
        return ExitCode::Ok;
    }
    const qint64 nowMs = levels->value("now"_L1).toInteger();
    const QJsonArray projects = levels->value("projects"_L1).toArray();
    printProjects(session, projects, nowMs);
    for (const QJsonValue &project : projects)
        printUses(session, project["callers"_L1].toArray());
    const QJsonArray accounts = levels->value("buckets"_L1).toArray();
    printAccounts(session, accounts, nowMs);
    const QString more =
        levels->value("complete"_L1).toBool(true) ? QString() : u" (not all were searched)"_s;
    session.print(u"%1 of %2 accounts, the most drained first%3\n"_s.arg(
        number(accounts.size()), number(levels->value("total"_L1).toInteger(accounts.size())), more));
    return ExitCode::Ok;
}

Result<ExitCode> showOne(Session &session, const Options &options)
{
    QUrlQuery query;
    if (!options.project.empty())
        query.addQueryItem(u"project"_s, segment(options.project));
    const QString path =
        u"/api/v1/limiters/%1/buckets/%2"_s.arg(segment(options.limiter), segment(options.account));
    const Result<QJsonObject> account = session.get(path, query);
    if (!account)
        return fail(account.error());
    if (session.json) {
        session.print(*account);
        return ExitCode::Ok;
    }
    printAccounts(session, {*account}, account->value("now"_L1).toInteger());
    printUses(session, account->value("uses"_L1).toArray());
    return ExitCode::Ok;
}

} // namespace

void addBuckets(CLI::App &app, Session &session)
{
    auto options = std::make_shared<Options>();
    CLI::App *buckets =
        app.add_subcommand("buckets", "How full the quota buckets are, in units, and who uses them");
    buckets->add_option("limiter", options->limiter, "Its name")->capture_default_str();
    CLI::Option *query = buckets->add_option("--query,-q", options->filter, "Part of an address");
    buckets->add_option("--limit,-n", options->limit, "How many accounts at most")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    CLI::Option *account =
        buckets->add_option("--account", options->account, "Only this mailbox, with its callers");
    account->excludes(query);
    buckets->add_option("--project", options->project, "The project of --account")->needs(account);
    session.onCalled(buckets, [&session, options] {
        return options->account.empty() ? showAll(session, *options) : showOne(session, *options);
    });
}

} // namespace tidekeeper::cli
