// SPDX-License-Identifier: Apache-2.0
// accounts renew: one, several or all that match; now, or pulled forward over some time.
#include "cli/accountchoice.h"
#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/humanize.h"
#include "cli/progressbar.h"
#include "config/config.h"

#include <QtCore/QJsonArray>
#include <QtCore/QThread>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

const QString renewQueue = u"renew"_s;
constexpr int pollMs = 500;

struct Options {
    AccountChoice choice;
    std::string spread;
    bool takeOver = false;
    bool wait = false;
};

Result<> areSound(const Options &options)
{
    if (options.takeOver && options.choice.ids.empty())
        return fail(u"usage"_s,
                    u"--take-over needs the ids of the accounts: each is a decision of its own."_s);
    if (options.takeOver && (options.choice.dryRun || !options.spread.empty()))
        return fail(u"usage"_s, u"--take-over works at once: leave out --dry-run and --spread."_s);
    if (options.wait && !options.spread.empty())
        return fail(u"usage"_s,
                    u"--wait is for renewals that begin now: leave out --wait or --spread. "
                    "tidekeeper status shows how many are due."_s);
    return {};
}

Result<QJsonObject> selectionOf(const Options &options)
{
    Result<QJsonObject> selection = options.choice.selection();
    if (!selection || options.spread.empty())
        return selection;
    const Result<qint64> spreadMs = config::parseDuration(text(options.spread));
    if (!spreadMs) {
        return fail(
            u"usage"_s,
            u"--spread %1 is not a duration: write for example 6h or 90m."_s.arg(text(options.spread)));
    }
    selection->insert("spread_ms"_L1, *spreadMs);
    return selection;
}

Result<QJsonObject> counted(Session &session, QJsonObject selection)
{
    selection.insert("dry_run"_L1, true);
    return session.send("POST", u"/api/v1/accounts/renew"_s, selection);
}

QString countText(const QJsonObject &counted)
{
    return u"%1 accounts match, to renew them takes %2 or more"_s.arg(
        number(counted["matched"_L1].toInteger()), duration(counted["estimate_ms"_L1].toInteger()));
}

/// Jobs that are ahead of all others and those that run.
Result<qint64> underWay(Session &session)
{
    const Result<QJsonObject> answer = session.get(u"/api/v1/queues"_s);
    if (!answer)
        return fail(answer.error());
    const QJsonArray queues = (*answer)["queues"_L1].toArray();
    for (const QJsonValue &queue : queues) {
        if (queue["name"_L1] == renewQueue)
            return queue["urgent"_L1].toInteger() + queue["running"_L1].toInteger();
    }
    return fail(u"not_found"_s, u"The engine has no queue named %1."_s.arg(renewQueue));
}

Result<> waitForTheEnd(Session &session)
{
    Result<qint64> left = underWay(session);
    const qint64 total = left.value_or(0);
    const ProgressBar bar(total);
    while (left && *left > 0) {
        const qint64 done = std::max<qint64>(0, total - *left);
        bar.show(done, done);
        QThread::msleep(pollMs);
        left = underWay(session);
    }
    bar.clear();
    return left ? Result<>() : fail(left.error());
}

Result<bool> isWanted(Session &session, const Options &options, const QJsonObject &selection)
{
    const bool isSpread = !options.spread.empty();
    if (!isSpread && (session.json || options.choice.yes || !options.choice.all))
        return true;
    const Result<QJsonObject> count =
        counted(session, selection); // refuses too short a spread for all of them
    if (!count)
        return fail(count.error());
    if (session.json || options.choice.yes)
        return true;
    session.print(countText(*count) + u".\n"_s);
    return isConfirmed(false);
}

Result<ExitCode> renewMany(Session &session, const Options &options)
{
    const Result<QJsonObject> selection = selectionOf(options);
    if (!selection)
        return fail(selection.error());
    if (options.choice.dryRun) {
        const Result<QJsonObject> count = counted(session, *selection);
        if (!count)
            return fail(count.error());
        if (session.json)
            session.print(*count);
        else
            session.print(countText(*count) + u" (dry run: none was queued)\n"_s);
        return ExitCode::Ok;
    }
    const Result<bool> wanted = isWanted(session, options, *selection);
    if (!wanted)
        return fail(wanted.error());
    if (!*wanted) {
        session.complain(u"Nothing was queued."_s);
        return ExitCode::Refused;
    }
    const bool isSpread = !options.spread.empty();
    const QString doneName = isSpread ? u"scheduled"_s : u"enqueued"_s;
    const Result<QJsonObject> answer = sendInParts(session, u"/renew"_s, *selection, doneName);
    if (!answer)
        return fail(answer.error());
    if (session.json) {
        session.print(*answer);
        return ExitCode::Ok;
    }
    const QString done =
        isSpread ? u"are due within the next %1"_s.arg(text(options.spread)) : u"queued for renewal"_s;
    session.print(u"%1 accounts match, %2 %3\n"_s.arg(number((*answer)["matched"_L1].toInteger()),
                                                      number((*answer)[doneName].toInteger()), done));
    printSkipped(session, *answer);
    return ExitCode::Ok;
}

Result<ExitCode> renewNamed(Session &session, const Options &options)
{
    if (const Result<QJsonObject> selection = options.choice.selection(); !selection)
        return fail(selection.error());
    const QJsonObject body = options.takeOver ? QJsonObject{{u"take_over"_s, true}} : QJsonObject();
    return each(session, options.choice.ids, "POST", u"/renew"_s, u"queued for renewal"_s, body);
}

Result<ExitCode> renew(Session &session, const Options &options)
{
    if (const Result<> sound = areSound(options); !sound)
        return fail(sound.error());
    const bool isNamed = !options.choice.ids.empty() && !options.choice.dryRun && options.spread.empty();
    const Result<ExitCode> code = isNamed ? renewNamed(session, options) : renewMany(session, options);
    if (!code || *code != ExitCode::Ok || !options.wait || options.choice.dryRun)
        return code;
    const Result<> ended = waitForTheEnd(session);
    return ended ? code : fail(ended.error());
}

} // namespace

void addRenew(CLI::App &accounts, Session &session)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = accounts.add_subcommand("renew", "Renews watches now, or all within some time");
    options->choice.addTo(command, {});
    command->add_option("--spread", options->spread,
                        "Pulls them forward: due within this time, for example 6h, each at its own moment");
    command->add_flag("--take-over", options->takeOver, "Ends a watch that another environment holds, once");
    command->add_flag("--wait", options->wait, "Stays until no renewal that was asked for is waiting");
    session.onCalled(command, [&session, options] { return renew(session, *options); });
}

} // namespace tidekeeper::cli
