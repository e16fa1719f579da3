// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/table.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr auto right = Table::Align::Right;

struct Options {
    std::string queue;
    std::string group;
    std::vector<std::string> ids;
    bool all = false;
    bool dryRun = false;
    int limit = 50;
};

/// The queue that was named, or the only one there is.
Result<std::string> queueOf(Session &session, const Options &options)
{
    if (!options.queue.empty())
        return options.queue;
    const Result<QJsonObject> answer = session.get(u"/api/v1/queues"_s);
    if (!answer)
        return fail(answer.error());
    const QJsonArray queues = answer->value("queues"_L1).toArray();
    if (queues.size() != 1)
        return fail(u"usage"_s, u"There are %1 queues; choose one with --queue."_s.arg(queues.size()));
    return queues.first()["name"_L1].toString().toStdString();
}

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
                 {u"OLDEST WAITS"_s, right}});
    for (const QJsonValue &queue : answer->value("queues"_L1).toArray()) {
        QStringList cells{queue["name"_L1].toString()};
        for (const auto count : {"urgent"_L1, "normal"_L1, "delayed"_L1, "running"_L1, "dead"_L1})
            cells.append(number(queue[count].toInteger()));
        cells.append(duration(queue["oldest_waiting_ms"_L1].toInteger()));
        table.add(cells);
    }
    session.print(table.text());
    return ExitCode::Ok;
}

Result<ExitCode> dead(Session &session, const Options &options)
{
    const Result<std::string> queue = queueOf(session, options);
    if (!queue)
        return fail(queue.error());
    QUrlQuery query;
    query.addQueryItem(u"limit"_s, QString::number(options.limit));
    if (!options.group.empty())
        query.addQueryItem(u"group"_s, segment(options.group));
    const Result<QJsonObject> answer = session.get(u"/api/v1/queues/%1/dead"_s.arg(segment(*queue)), query);
    if (!answer)
        return fail(answer.error());
    if (session.json) {
        session.print(*answer);
        return ExitCode::Ok;
    }
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    Table table(
        {{u"ID"_s}, {u"TYPE"_s}, {u"GROUP"_s}, {u"DIED"_s, right}, {u"STARTS"_s, right}, {u"ERROR"_s}});
    const QJsonArray letters = answer->value("dead"_L1).toArray();
    for (const QJsonValue &job : letters) {
        table.add({job["id"_L1].toString(), job["type"_L1].toString(), job["group"_L1].toString(),
                   relative(job["died_at"_L1].toInteger(), nowMs), number(job["starts"_L1].toInteger()),
                   job["error_text"_L1].toString()});
    }
    session.print(table.text());
    session.print(u"%1 of %2 dead letters\n"_s.arg(number(letters.size()),
                                                   number(answer->value("total"_L1).toInteger())));
    return ExitCode::Ok;
}

QString sentence(const QJsonObject &answer, const QString &moved, bool dryRun)
{
    QString text = u"%1 match, %2 %3"_s.arg(number(answer["matched"_L1].toInteger()),
                                            number(answer[moved].toInteger()), moved);
    if (const qint64 live = answer["already_live"_L1].toInteger(); live > 0)
        text += u", %1 have a live job already"_s.arg(number(live));
    return dryRun ? text + u" (dry run: nothing was changed)"_s : text;
}

Result<ExitCode> move(Session &session, const Options &options, const QString &verb, const QString &moved)
{
    if (options.ids.empty() && options.group.empty() && !options.all)
        return fail(u"usage"_s, u"Name dead letters, or choose them with --group GROUP or --all."_s);
    const Result<std::string> queue = queueOf(session, options);
    if (!queue)
        return fail(queue.error());
    QJsonObject body{{u"dry_run"_s, options.dryRun}};
    if (!options.group.empty())
        body[u"group"_s] = text(options.group);
    if (options.all)
        body[u"all"_s] = true;
    QJsonArray ids;
    for (const std::string &id : options.ids)
        ids.append(text(id));
    if (!ids.isEmpty())
        body[u"ids"_s] = ids;
    const Result<QJsonObject> answer =
        session.send("POST", u"/api/v1/queues/%1/dead/%2"_s.arg(segment(*queue), verb), body);
    if (!answer)
        return fail(answer.error());
    if (session.json)
        session.print(*answer);
    else
        session.print(sentence(*answer, moved, options.dryRun) + u'\n');
    return ExitCode::Ok;
}

void addMove(CLI::App &queue, Session &session, const char *name, const char *description,
             const QString &moved)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = queue.add_subcommand(name, description);
    command->add_option("id", options->ids, "Dead letters");
    command->add_option("--queue", options->queue, "Its name; not needed when there is one");
    command->add_option("--group", options->group, "All of this group");
    command->add_flag("--all", options->all, "All of them");
    command->add_flag("--dry-run", options->dryRun, "Only count");
    const QString verb = QString::fromLatin1(name);
    session.onCalled(command, [=, &session] { return move(session, *options, verb, moved); });
}

} // namespace

void addQueue(CLI::App &app, Session &session)
{
    CLI::App *queue = app.add_subcommand("queue", "Jobs, and those that will not run again by themselves");
    queue->require_subcommand(1);
    session.onCalled(queue->add_subcommand("list", "All queues"), [&session] { return list(session); });

    auto options = std::make_shared<Options>();
    CLI::App *letters = queue->add_subcommand("dead", "Dead letters, the newest first");
    letters->add_option("--queue", options->queue, "Its name; not needed when there is one");
    letters->add_option("--group", options->group, "Only of this group");
    letters->add_option("--limit,-n", options->limit, "How many at most")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    session.onCalled(letters, [&session, options] { return dead(session, *options); });

    addMove(*queue, session, "requeue", "Runs dead letters again", u"requeued"_s);
    addMove(*queue, session, "discard", "Drops dead letters; they can be restored for 24 hours",
            u"discarded"_s);
    addMove(*queue, session, "restore", "Brings discarded ones back", u"restored"_s);
}

} // namespace tidekeeper::cli
