// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/table.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

const QString schedulesPath = u"/api/v1/schedules"_s;

QString pathOf(const std::string &id, const QString &verb)
{
    return schedulesPath + u'/' + segment(id) + verb;
}

QString rhythm(const QJsonObject &schedule)
{
    if (const QString cron = schedule["cron"_L1].toString(); !cron.isEmpty())
        return u"%1 %2"_s.arg(cron, schedule["zone"_L1].toString(u"UTC"_s));
    return u"every "_s + duration(schedule["interval_ms"_L1].toInteger());
}

Result<ExitCode> list(Session &session)
{
    const Result<QJsonObject> schedules = session.get(schedulesPath);
    if (!schedules)
        return fail(schedules.error());
    if (session.json) {
        session.print(*schedules);
        return ExitCode::Ok;
    }
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    const auto when = [nowMs](const QJsonValue &at) {
        return at.toInteger() == 0 ? u"–"_s : relative(at.toInteger(), nowMs);
    };
    Table table({{u"ID"_s},
                 {u"RHYTHM"_s},
                 {u"STATE"_s},
                 {u"LAST"_s, Table::Align::Right},
                 {u"NEXT"_s, Table::Align::Right},
                 {u"TITLE"_s}});
    for (const QJsonValue &row : schedules->value("schedules"_L1).toArray()) {
        table.add({row["id"_L1].toString(), rhythm(row.toObject()),
                   row["paused"_L1].toBool() ? u"paused"_s : u"active"_s, when(row["last_at"_L1]),
                   when(row["next_at"_L1]), row["title"_L1].toString()});
    }
    session.print(table.text());
    return ExitCode::Ok;
}

Result<ExitCode> next(Session &session, const std::string &id, int n)
{
    QUrlQuery query;
    query.addQueryItem(u"n"_s, QString::number(n));
    const Result<QJsonObject> fires = session.get(pathOf(id, u"/next"_s), query);
    if (!fires)
        return fail(fires.error());
    if (session.json) {
        session.print(*fires);
        return ExitCode::Ok;
    }
    for (const QJsonValue &at : fires->value("next"_L1).toArray())
        session.print(instant(at.toInteger()) + u'\n');
    return ExitCode::Ok;
}

Result<ExitCode> tell(Session &session, const std::string &id, const QString &verb, const QString &done)
{
    const Result<QJsonObject> answer = session.send("POST", pathOf(id, verb));
    if (!answer)
        return fail(answer.error());
    if (session.json)
        session.print(*answer);
    else
        session.print(u"%1: %2\n"_s.arg(printable(text(id)), done));
    return ExitCode::Ok;
}

} // namespace

void addSchedules(CLI::App &app, Session &session)
{
    CLI::App *schedules = app.add_subcommand("schedules", "What runs when");
    schedules->require_subcommand(1);
    session.onCalled(schedules->add_subcommand("list", "All schedules"),
                     [&session] { return list(session); });

    auto id = std::make_shared<std::string>();
    auto n = std::make_shared<int>(5);
    CLI::App *fires = schedules->add_subcommand("next", "The next times");
    fires->add_option("id", *id, "The schedule")->required();
    fires->add_option("-n", *n, "How many")->check(CLI::Range(1, 1000))->capture_default_str();
    session.onCalled(fires, [&session, id, n] { return next(session, *id, *n); });

    const auto verb = [&](const char *name, const char *description, const QString &path,
                          const QString &done) {
        CLI::App *command = schedules->add_subcommand(name, description);
        command->add_option("id", *id, "The schedule")->required();
        session.onCalled(command, [=, &session] { return tell(session, *id, path, done); });
    };
    verb("run", "Runs it once now", u"/run"_s, u"started"_s);
    verb("pause", "No more runs until it is resumed", u"/pause"_s, u"paused"_s);
    verb("resume", "Runs again", u"/resume"_s, u"active"_s);
}

} // namespace tidekeeper::cli
