// SPDX-License-Identifier: Apache-2.0
// queue requeue, discard, restore: dead letters by id, by group or all of them.
#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/humanize.h"
#include "cli/queuenames.h"

#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

struct Verb {
    QString name; ///< of the command and in the path
    QString done; ///< "requeued"
    QString found; ///< what it works on: "dead letters"
};

struct Options {
    std::string queue;
    std::string group;
    std::vector<std::string> ids;
    bool all = false;
    bool dryRun = false;
    bool yes = false;
};

/// The fields of a server's answer that count something, over all queues that were asked.
using Counts = QMap<QString, qint64>;

QJsonObject bodyOf(const Options &options, bool dryRun)
{
    QJsonObject body{{u"dry_run"_s, dryRun}};
    if (!options.group.empty())
        body[u"group"_s] = text(options.group);
    if (options.all)
        body[u"all"_s] = true;
    QJsonArray ids;
    for (const std::string &id : options.ids)
        ids.append(text(id));
    if (!ids.isEmpty())
        body[u"ids"_s] = ids;
    return body;
}

Result<Counts> ask(Session &session, const QStringList &queues, const Verb &verb, const Options &options,
                   bool dryRun)
{
    Counts counts;
    for (const QString &queue : queues) {
        const Result<QJsonObject> answer =
            session.send("POST", queuePath(queue, u"/dead/"_s + verb.name), bodyOf(options, dryRun));
        if (!answer)
            return fail(answer.error());
        for (auto count = answer->begin(); count != answer->end(); ++count)
            counts[count.key()] += count->toInteger();
    }
    // Each queue misses the ids of the others.
    counts[u"gone"_s] =
        options.ids.empty() ? counts[u"gone"_s] : qint64(options.ids.size()) - counts[u"matched"_s];
    return counts;
}

QString sentence(const Counts &counts, const Verb &verb)
{
    QString text = u"%1 of %2 %3"_s.arg(number(counts[verb.done]), number(counts[u"matched"_s]), verb.done);
    if (const qint64 live = counts[u"already_live"_s]; live > 0)
        text += u", %1 skipped: a job with the same key is live"_s.arg(number(live));
    if (const qint64 late = counts[u"too_late"_s]; late > 0)
        text += u", %1 skipped: discarded more than 24 hours ago"_s.arg(number(late));
    if (const qint64 gone = counts[u"gone"_s]; gone > 0)
        text += u", %1 not found among the %2"_s.arg(number(gone), verb.found);
    return text;
}

/// An id that is not there is a refusal; that nothing matches is none.
ExitCode exitCodeOf(const Counts &counts)
{
    return counts[u"gone"_s] > 0 ? ExitCode::Refused : ExitCode::Ok;
}

void printCounts(Session &session, const Counts &counts)
{
    QJsonObject object;
    for (auto count = counts.begin(); count != counts.end(); ++count)
        object.insert(count.key(), *count);
    session.print(object);
}

Result<ExitCode> move(Session &session, const Options &options, const Verb &verb)
{
    const int ways = int(!options.ids.empty()) + int(!options.group.empty()) + int(options.all);
    if (ways != 1)
        return fail(u"usage"_s,
                    u"Name %1, or choose them with --group GROUP or --all; one way only."_s.arg(verb.found));
    const Result<QStringList> queues = queuesOf(session, options.queue);
    if (!queues)
        return fail(queues.error());
    if (options.dryRun || (!options.yes && !session.json)) {
        const Result<Counts> would = ask(session, *queues, verb, options, true);
        if (!would)
            return fail(would.error());
        if (options.dryRun && session.json) {
            printCounts(session, *would);
            return ExitCode::Ok;
        }
        session.print(u"%1 %2 match"_s.arg(number((*would)[u"matched"_s]), verb.found)
                      + (options.dryRun ? u" (dry run: nothing was changed)\n"_s : u"\n"_s));
        if (options.dryRun)
            return ExitCode::Ok;
        if ((*would)[u"matched"_s] == 0)
            return exitCodeOf(*would);
        if (!isConfirmed(options.yes)) {
            session.complain(u"Nothing was changed."_s);
            return ExitCode::Refused;
        }
    }
    const Result<Counts> done = ask(session, *queues, verb, options, false);
    if (!done)
        return fail(done.error());
    if (session.json)
        printCounts(session, *done);
    else
        session.print(sentence(*done, verb) + u'\n');
    return exitCodeOf(*done);
}

void addMove(CLI::App &queue, Session &session, const char *description, const Verb &verb)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = queue.add_subcommand(verb.name.toStdString(), description);
    command->add_option("id", options->ids, "By their ids");
    command->add_option("--queue", options->queue, "Only of this queue");
    command->add_option("--group", options->group, "All of this class, or class:fingerprint");
    command->add_flag("--all", options->all, "All of them");
    command->add_flag("--dry-run", options->dryRun, "Only count");
    command->add_flag("--yes,-y", options->yes, "Does not count and ask first");
    session.onCalled(command, [&session, options, verb] { return move(session, *options, verb); });
}

} // namespace

void addQueueMoves(CLI::App &queue, Session &session)
{
    addMove(queue, session, "Runs dead letters again", {u"requeue"_s, u"requeued"_s, u"dead letters"_s});
    addMove(queue, session, "Drops dead letters; they can be restored for 24 hours",
            {u"discard"_s, u"discarded"_s, u"dead letters"_s});
    addMove(queue, session, "Brings discarded ones back", {u"restore"_s, u"restored"_s, u"discarded ones"_s});
}

} // namespace tidekeeper::cli
