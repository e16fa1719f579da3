// SPDX-License-Identifier: Apache-2.0
// queue list, jobs, dead.
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/queuenames.h"
#include "cli/table.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

#include <algorithm>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr auto right = Table::Align::Right;

struct Options {
    std::string queue;
    std::string type;
    std::string outcome;
    std::string errorClass;
    std::string group;
    bool discarded = false;
    int limit = 50;
};

Result<ExitCode> list(Session &session)
{
    const Result<QJsonObject> answer = session.get(u"/api/v1/queues"_s);
    if (!answer)
        return fail(answer.error());
    if (session.json) {
        session.print(*answer);
        return ExitCode::Ok;
    }
    Table table({{u"QUEUE"_s},
                 {u"URGENT"_s, right},
                 {u"NORMAL"_s, right},
                 {u"DELAYED"_s, right},
                 {u"RUNNING"_s, right},
                 {u"DEAD"_s, right},
                 {u"DISCARDED"_s, right},
                 {u"OLDEST WAITS"_s, right}});
    for (const QJsonValue &queue : answer->value("queues"_L1).toArray()) {
        QStringList cells{queue["name"_L1].toString()};
        for (const auto count :
             {"urgent"_L1, "normal"_L1, "delayed"_L1, "running"_L1, "dead"_L1, "discarded"_L1})
            cells.append(number(queue[count].toInteger()));
        cells.append(duration(queue["oldest_waiting_ms"_L1].toInteger()));
        table.add(cells);
    }
    session.print(table.text());
    return ExitCode::Ok;
}

/// The same list of each queue as one: entries say which queue they are of, the newest come first.
Result<QJsonObject> listOf(Session &session, const Options &options, const QString &path,
                           const QUrlQuery &query, const QString &name, const QString &newest)
{
    const Result<QStringList> queues = queuesOf(session, options.queue);
    if (!queues)
        return fail(queues.error());
    QJsonObject merged;
    QList<QJsonValue> entries;
    QJsonArray groups;
    qint64 total = 0;
    for (const QString &queue : *queues) {
        const Result<QJsonObject> page = session.get(queuePath(queue, path), query);
        if (!page)
            return fail(page.error());
        const auto ofThis = [&queue](const QJsonValue &entry) {
            QJsonObject object = entry.toObject();
            object.insert("queue"_L1, queue);
            return object;
        };
        for (const QJsonValue &entry : page->value(name).toArray())
            entries.append(ofThis(entry));
        for (const QJsonValue &group : page->value("groups"_L1).toArray())
            groups.append(ofThis(group));
        total += page->value("total"_L1).toInteger();
        if (queues->size() == 1)
            merged.insert("next_cursor"_L1, page->value("next_cursor"_L1));
    }
    std::stable_sort(entries.begin(), entries.end(), [&newest](const QJsonValue &a, const QJsonValue &b) {
        return a[newest].toInteger() > b[newest].toInteger();
    });
    QJsonArray shown;
    for (const QJsonValue &entry : entries.mid(0, options.limit))
        shown.append(entry);
    merged.insert(name, shown);
    if (name == "dead"_L1) {
        merged.insert("groups"_L1, groups);
        merged.insert("total"_L1, total);
    }
    return merged;
}

QString errorOf(const QJsonValue &job)
{
    const QString errorClass = job["error_class"_L1].toString();
    const QString text = job["error_text"_L1].toString();
    return errorClass.isEmpty() ? text : errorClass + u": "_s + text;
}

Result<ExitCode> jobs(Session &session, const Options &options)
{
    QUrlQuery query;
    query.addQueryItem(u"limit"_s, QString::number(options.limit));
    for (const auto &[name, value] :
         {std::pair{u"type"_s, &options.type}, std::pair{u"outcome"_s, &options.outcome},
          std::pair{u"class"_s, &options.errorClass}}) {
        if (!value->empty())
            query.addQueryItem(name, segment(*value));
    }
    const Result<QJsonObject> answer = listOf(session, options, u"/jobs"_s, query, u"jobs"_s, u"ended_at"_s);
    if (!answer)
        return fail(answer.error());
    if (session.json) {
        session.print(*answer);
        return ExitCode::Ok;
    }
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    Table table({{u"ID"_s},
                 {u"QUEUE"_s},
                 {u"TYPE"_s},
                 {u"ENDED"_s, right},
                 {u"OUTCOME"_s},
                 {u"TOOK"_s, right},
                 {u"FAILED"_s, right},
                 {u"PUT OFF"_s, right},
                 {u"SCHEDULE"_s},
                 {u"LAST ERROR"_s}});
    for (const QJsonValue &job : answer->value("jobs"_L1).toArray()) {
        const QString schedule = job["schedule"_L1].toString();
        table.add({job["id"_L1].toString(), job["queue"_L1].toString(), job["type"_L1].toString(),
                   relative(job["ended_at"_L1].toInteger(), nowMs), job["outcome"_L1].toString(),
                   duration(job["duration_ms"_L1].toInteger()), number(job["attempts"_L1].toInteger()),
                   number(job["deferrals"_L1].toInteger()), schedule.isEmpty() ? u"–"_s : schedule,
                   errorOf(job)});
    }
    session.print(table.text());
    return ExitCode::Ok;
}

void printGroups(Session &session, const QJsonArray &groups, qint64 nowMs)
{
    Table table({{u"GROUP"_s}, {u"QUEUE"_s}, {u"COUNT"_s, right}, {u"FIRST"_s, right}, {u"LAST"_s, right}});
    for (const QJsonValue &group : groups) {
        table.add({group["group"_L1].toString(), group["queue"_L1].toString(),
                   number(group["count"_L1].toInteger()), relative(group["first_at"_L1].toInteger(), nowMs),
                   relative(group["last_at"_L1].toInteger(), nowMs)});
    }
    session.print(u'\n' + table.text());
}

Result<ExitCode> dead(Session &session, const Options &options)
{
    QUrlQuery query;
    query.addQueryItem(u"limit"_s, QString::number(options.limit));
    if (options.discarded)
        query.addQueryItem(u"state"_s, u"discarded"_s);
    if (!options.group.empty())
        query.addQueryItem(u"group"_s, segment(options.group));
    const Result<QJsonObject> answer = listOf(session, options, u"/dead"_s, query, u"dead"_s, u"died_at"_s);
    if (!answer)
        return fail(answer.error());
    if (session.json) {
        session.print(*answer);
        return ExitCode::Ok;
    }
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    Table table({{u"ID"_s},
                 {u"QUEUE"_s},
                 {u"TYPE"_s},
                 {u"GROUP"_s},
                 {u"DIED"_s, right},
                 {u"STARTS"_s, right},
                 {u"FAILED"_s, right},
                 {u"ERROR"_s}});
    const QJsonArray letters = answer->value("dead"_L1).toArray();
    for (const QJsonValue &job : letters) {
        table.add({job["id"_L1].toString(), job["queue"_L1].toString(), job["type"_L1].toString(),
                   job["group"_L1].toString(), relative(job["died_at"_L1].toInteger(), nowMs),
                   number(job["starts"_L1].toInteger()), number(job["attempts"_L1].toInteger()),
                   job["error_text"_L1].toString()});
    }
    session.print(table.text());
    session.print(u"%1 of %2 %3\n"_s.arg(number(letters.size()),
                                         number(answer->value("total"_L1).toInteger()),
                                         options.discarded ? u"discarded ones"_s : u"dead letters"_s));
    const QJsonArray groups = answer->value("groups"_L1).toArray();
    if (options.group.empty() && !groups.isEmpty())
        printGroups(session, groups, nowMs);
    return ExitCode::Ok;
}

CLI::App *addList(CLI::App &queue, const char *name, const char *description,
                  const std::shared_ptr<Options> &options)
{
    CLI::App *command = queue.add_subcommand(name, description);
    command->add_option("--queue", options->queue, "Only of this queue");
    command->add_option("--limit,-n", options->limit, "How many at most")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    return command;
}

} // namespace

void addQueue(CLI::App &app, Session &session)
{
    CLI::App *queue = app.add_subcommand("queue", "Jobs, and those that will not run again by themselves");
    queue->require_subcommand(1);
    session.onCalled(queue->add_subcommand("list", "All queues"), [&session] { return list(session); });

    auto options = std::make_shared<Options>();
    CLI::App *finished = addList(*queue, "jobs", "Finished jobs, the newest first", options);
    finished->add_option("--type", options->type, "Only of this type");
    finished->add_option("--outcome", options->outcome, "Only those that ended so")
        ->check(CLI::IsMember({"done", "dead"}));
    finished->add_option("--class", options->errorClass, "Only those whose last error is of this class");
    session.onCalled(finished, [&session, options] { return jobs(session, *options); });

    CLI::App *letters = addList(*queue, "dead", "Dead letters, the newest first, and their groups", options);
    letters->add_option("--group", options->group, "Only of this class, or class:fingerprint");
    letters->add_flag("--discarded", options->discarded, "Those discarded in the last 24 hours instead");
    session.onCalled(letters, [&session, options] { return dead(session, *options); });

    addQueueMoves(*queue, session);
}

} // namespace tidekeeper::cli
