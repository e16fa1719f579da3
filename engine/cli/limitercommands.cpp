// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/table.h"

#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr auto right = Table::Align::Right;

QString onOff(const QJsonValue &value)
{
    return value.toBool() ? u"on"_s : u"off"_s;
}

void printLimiter(Session &session, const QJsonObject &limiter)
{
    Table table({{u"PROJECT"_s},
                 {u"PRESET"_s},
                 {u"ACCOUNT"_s, right},
                 {u"PER MIN"_s, right},
                 {u"PROJECT UNITS"_s, right},
                 {u"PER MIN"_s, right},
                 {u"ENFORCE"_s},
                 {u"FAIL OPEN"_s}});
    QStringList warnings;
    const QJsonObject projects = limiter["projects"_L1].toObject();
    for (auto project = projects.begin(); project != projects.end(); ++project) {
        const QJsonObject p = project->toObject();
        table.add({project.key(), p["preset"_L1].toString(), number(p["account_capacity"_L1].toInteger()),
                   number(p["account_refill_per_minute"_L1].toInteger()),
                   number(p["project_capacity"_L1].toInteger()),
                   number(p["project_refill_per_minute"_L1].toInteger()), onOff(p["enforce"_L1]),
                   onOff(p["fail_open"_L1])});
        for (const QJsonValue &warning : p["warnings"_L1].toArray())
            warnings.append(warning.toString());
    }
    session.print(table.text());
    for (const QString &warning : warnings)
        session.print(u"Warning: %1\n"_s.arg(printable(warning)));
}

Result<ExitCode> showLimiter(Session &session, const std::string &name)
{
    const Result<QJsonObject> limiter = session.get(u"/api/v1/limiters/"_s + segment(name));
    if (!limiter)
        return fail(limiter.error());
    if (session.json)
        session.print(*limiter);
    else
        printLimiter(session, *limiter);
    return ExitCode::Ok;
}

QString share(qint64 level, qint64 capacity)
{
    return capacity > 0 ? u"%1 %"_s.arg(100 * level / capacity) : u"–"_s;
}

void addLevel(Table &table, const QString &who, const QJsonObject &bucket)
{
    const qint64 level = bucket["level"_L1].toInteger();
    const qint64 capacity = bucket["capacity"_L1].toInteger();
    table.add(
        {who, bucket["project"_L1].toString(), number(level), number(capacity), share(level, capacity)});
}

Result<ExitCode> buckets(Session &session, const std::string &limiter, const std::string &filter, int limit)
{
    QUrlQuery query;
    query.addQueryItem(u"limit"_s, QString::number(limit));
    if (!filter.empty())
        query.addQueryItem(u"q"_s, segment(filter));
    const Result<QJsonObject> levels =
        session.get(u"/api/v1/limiters/%1/buckets"_s.arg(segment(limiter)), query);
    if (!levels)
        return fail(levels.error());
    if (session.json) {
        session.print(*levels);
        return ExitCode::Ok;
    }
    Table table(
        {{u"ACCOUNT"_s}, {u"PROJECT"_s}, {u"LEVEL"_s, right}, {u"CAPACITY"_s, right}, {u"FULL"_s, right}});
    for (const QJsonValue &project : levels->value("projects"_L1).toArray())
        addLevel(table, u"(whole project)"_s, project.toObject());
    const QJsonArray accounts = levels->value("buckets"_L1).toArray();
    for (const QJsonValue &account : accounts)
        addLevel(table, account["account"_L1].toString(), account.toObject());
    session.print(table.text());
    session.print(u"%1 of %2 accounts, the most drained first\n"_s.arg(
        number(accounts.size()), number(levels->value("total"_L1).toInteger(accounts.size()))));
    return ExitCode::Ok;
}

} // namespace

void addLimiter(CLI::App &app, Session &session)
{
    struct Options {
        std::string limiter = "gmail";
        std::string filter;
        int limit = 50;
    };
    auto options = std::make_shared<Options>();

    CLI::App *limiter = app.add_subcommand("limiter", "Limits of the quota limiters");
    limiter->require_subcommand(1);
    CLI::App *show = limiter->add_subcommand("show", "Limits and settings by project");
    show->add_option("limiter", options->limiter, "Its name")->capture_default_str();
    session.onCalled(show, [&session, options] { return showLimiter(session, options->limiter); });

    CLI::App *levels = app.add_subcommand("buckets", "How full the quota buckets are, in units");
    levels->add_option("limiter", options->limiter, "Its name")->capture_default_str();
    levels->add_option("--query,-q", options->filter, "Part of an address");
    levels->add_option("--limit,-n", options->limit, "How many accounts at most")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    session.onCalled(levels, [&session, options] {
        return buckets(session, options->limiter, options->filter, options->limit);
    });
}

} // namespace tidekeeper::cli
