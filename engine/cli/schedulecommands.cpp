// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/table.h"

#include <QtCore/QDateTime>
#include <QtCore/QHash>
#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr auto right = Table::Align::Right;
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

/// Nothing of it: active.
QString stateOf(const QJsonObject &schedule)
{
    QStringList words;
    if (schedule["orphaned"_L1].toBool())
        words.append(u"orphaned"_s);
    if (schedule["paused"_L1].toBool())
        words.append(u"paused"_s);
    if (schedule["overdue_since"_L1].toInteger() > 0)
        words.append(u"overdue"_s);
    if (schedule["running"_L1].toBool())
        words.append(u"running"_s);
    return words.isEmpty() ? u"active"_s : words.join(u", "_s);
}

QString when(const QJsonValue &at, qint64 nowMs)
{
    return at.toInteger() == 0 ? u"–"_s : relative(at.toInteger(), nowMs);
}

/// What came of a run, in words.
QString resultOf(const QJsonValue &run)
{
    static const QHash<QString, QString> withoutAJob{
        {u"passed_over"_s, u"passed over"_s},
        {u"running"_s, u"skipped: the last one still ran"_s},
        {u"waiting"_s, u"skipped: the last one still waited"_s},
        {u"delayed"_s, u"skipped: the last one waited for its next try"_s},
        {u"promoted"_s, u"moved the waiting one ahead"_s},
        {u"queued_one"_s, u"queued after the last one"_s},
        {u"added"_s, u"queued"_s},
    };
    const QString outcome = run["outcome"_L1].toString();
    const QString result = run["result"_L1].toString();
    return outcome.isEmpty() ? withoutAJob.value(result, result) : outcome;
}

QString tookOf(const QJsonValue &run)
{
    return run["outcome"_L1].toString().isEmpty() ? u"–"_s : duration(run["duration_ms"_L1].toInteger());
}

QString errorOf(const QJsonValue &run)
{
    const QString errorClass = run["error_class"_L1].toString();
    return errorClass.isEmpty() ? u"–"_s : u"%1: %2"_s.arg(errorClass, run["error_text"_L1].toString());
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
    Table table({{u"ID"_s},
                 {u"WHEN"_s},
                 {u"STATE"_s},
                 {u"NEXT"_s, right},
                 {u"LAST"_s, right},
                 {u"RESULT"_s},
                 {u"TOOK"_s, right}});
    for (const QJsonValue &row : schedules->value("schedules"_L1).toArray()) {
        const QJsonValue run = row["last_run"_L1];
        const QString result = resultOf(run);
        const qint64 lastAt = std::max(row["last_at"_L1].toInteger(), run["ended_at"_L1].toInteger());
        table.add({row["id"_L1].toString(), rhythm(row.toObject()), stateOf(row.toObject()),
                   when(row["next_at"_L1], nowMs), when(lastAt, nowMs), result.isEmpty() ? u"–"_s : result,
                   tookOf(run)});
    }
    session.print(table.text());
    return ExitCode::Ok;
}

void printSchedule(Session &session, const QJsonObject &schedule)
{
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    const auto line = [&](const QString &name, const QString &value) {
        session.print(name.leftJustified(16) + printable(value) + u'\n');
    };
    const auto moment = [nowMs](const QJsonValue &at) {
        return at.toInteger() == 0
            ? u"–"_s
            : u"%1 (%2)"_s.arg(relative(at.toInteger(), nowMs), instant(at.toInteger()));
    };
    line(u"Id"_s, schedule["id"_L1].toString());
    line(u"Title"_s, schedule["title"_L1].toString());
    line(u"When"_s,
         rhythm(schedule) + (schedule["changed"_L1].toBool() ? u", changed by an operator"_s : QString()));
    if (const QString misfit = schedule["misfit"_L1].toString(); !misfit.isEmpty())
        line(u"Not in force"_s, misfit);
    const QString plugin = schedule["plugin"_L1].toString();
    line(u"Declared by"_s, plugin.isEmpty() ? u"the engine"_s : plugin);
    line(u"State"_s, stateOf(schedule));
    if (const QString why = schedule["orphaned_text"_L1].toString(); !why.isEmpty())
        line(u"  orphaned"_s, why);
    if (const qint64 since = schedule["overdue_since"_L1].toInteger(); since > 0)
        line(u"Overdue since"_s, moment(since));
    line(u"Next"_s, moment(schedule["next_at"_L1]));
    line(u"Misfire"_s, schedule["misfire"_L1].toString(u"coalesce"_s));
    line(u"Overlap"_s, schedule["overlap"_L1].toString(u"skip"_s));
    line(u"Jitter"_s, duration(schedule["jitter_ms"_L1].toInteger()));
    line(u"Job"_s,
         u"%1, queue %2"_s.arg(schedule["job"_L1]["type"_L1].toString(),
                               schedule["job"_L1]["queue"_L1].toString()));
    line(u"Last tick"_s, moment(schedule["last_at"_L1]));
    if (const QJsonObject run = schedule["last_run"_L1].toObject(); !run.isEmpty()) {
        line(u"Last run"_s, resultOf(run));
        line(u"  took"_s, tookOf(run));
        line(u"  attempts"_s,
             u"%1 failed, %2 put off"_s.arg(number(run["attempts"_L1].toInteger()),
                                            number(run["deferrals"_L1].toInteger())));
        line(u"  last error"_s, errorOf(run));
    }
}

Result<ExitCode> show(Session &session, const std::string &id)
{
    const Result<QJsonObject> schedule = session.get(pathOf(id, {}));
    if (!schedule)
        return fail(schedule.error());
    if (session.json)
        session.print(*schedule);
    else
        printSchedule(session, *schedule);
    return ExitCode::Ok;
}

Result<ExitCode> runs(Session &session, const std::string &id, int limit)
{
    QUrlQuery query;
    query.addQueryItem(u"limit"_s, QString::number(limit));
    const Result<QJsonObject> answer = session.get(pathOf(id, u"/runs"_s), query);
    if (!answer)
        return fail(answer.error());
    if (session.json) {
        session.print(*answer);
        return ExitCode::Ok;
    }
    Table table({{u"DUE"_s},
                 {u"BY"_s},
                 {u"RESULT"_s},
                 {u"TOOK"_s, right},
                 {u"FAILED"_s, right},
                 {u"PUT OFF"_s, right},
                 {u"JOB"_s},
                 {u"LAST ERROR"_s}});
    for (const QJsonValue &run : answer->value("runs"_L1).toArray()) {
        const bool byHand = run["trigger"_L1] == "manual"_L1;
        const QString job = run["job"_L1].toString();
        table.add({instant((byHand ? run["fired_at"_L1] : run["nominal_at"_L1]).toInteger()),
                   byHand ? u"hand"_s : u"schedule"_s, resultOf(run), tookOf(run),
                   number(run["attempts"_L1].toInteger()), number(run["deferrals"_L1].toInteger()),
                   job.isEmpty() ? u"–"_s : job, errorOf(run)});
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

Result<ExitCode> tell(Session &session, const QByteArray &method, const std::string &id, const QString &verb,
                      const QString &done)
{
    const Result<QJsonObject> answer = session.send(method, pathOf(id, verb));
    if (!answer)
        return fail(answer.error());
    if (session.json)
        session.print(*answer);
    else
        session.print(
            u"%1: %2\n"_s.arg(printable(text(id)), done.isEmpty() ? (*answer)["text"_L1].toString() : done));
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
    const auto one = [&](const char *name, const char *description) {
        CLI::App *command = schedules->add_subcommand(name, description);
        command->add_option("id", *id, "The schedule")->required();
        return command;
    };
    session.onCalled(one("show", "One schedule, its policies and its last run"),
                     [&session, id] { return show(session, *id); });

    auto n = std::make_shared<int>(5);
    CLI::App *fires = one("next", "The next times");
    fires->add_option("-n", *n, "How many")->check(CLI::Range(1, 1000))->capture_default_str();
    session.onCalled(fires, [&session, id, n] { return next(session, *id, *n); });

    auto limit = std::make_shared<int>(20);
    CLI::App *past = one("runs", "What became of its last runs, the newest first");
    past->add_option("--limit,-n", *limit, "How many at most")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    session.onCalled(past, [&session, id, limit] { return runs(session, *id, *limit); });

    const auto verb = [&](const char *name, const char *description, const QByteArray &method,
                          const QString &path, const QString &done) {
        session.onCalled(one(name, description),
                         [=, &session] { return tell(session, method, *id, path, done); });
    };
    verb("run", "Runs it once now", "POST", u"/run"_s, {});
    verb("pause", "No more runs until it is resumed", "POST", u"/pause"_s, u"paused"_s);
    verb("resume", "Runs again", "POST", u"/resume"_s, u"active"_s);
    verb("forget", "Drops a schedule that no plugin declares any more", "DELETE", {}, u"forgotten"_s);
}

} // namespace tidekeeper::cli
