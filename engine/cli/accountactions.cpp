// SPDX-License-Identifier: Apache-2.0
// accounts pause, resume and rm; renew is in accountrenew.cpp.
#include "cli/accountchoice.h"
#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/humanize.h"

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

struct Change {
    QString verb; ///< of the path
    QString done; ///< "paused"
    QString consequence; ///< of doing it to many, for the question
};

struct Options {
    AccountChoice choice;
    std::string share;
};

void printCounted(Session &session, const QJsonObject &answer)
{
    if (session.json)
        session.print(answer);
    else
        session.print(u"%1 accounts match (dry run: none was changed)\n"_s.arg(
            number(answer["matched"_L1].toInteger())));
}

/// Counts first, so that a person sees how many it is about.
Result<bool> isWanted(Session &session, const Change &change, QJsonObject selection)
{
    selection.insert("dry_run"_L1, true);
    const Result<QJsonObject> counted = session.send("POST", u"/api/v1/accounts"_s + change.verb, selection);
    if (!counted)
        return fail(counted.error());
    session.print(
        u"%1 accounts match. %2\n"_s.arg(number((*counted)["matched"_L1].toInteger()), change.consequence));
    return isConfirmed(false);
}

Result<ExitCode> changeMany(Session &session, const Change &change, const Options &options)
{
    Result<QJsonObject> selection = options.choice.selection();
    if (!selection && !options.share.empty() && options.choice.ids.empty())
        selection = QJsonObject{{u"filter"_s, QJsonObject()}}; // a share of all
    if (!selection)
        return fail(selection.error());
    if (!options.share.empty())
        selection->insert("share"_L1, text(options.share));
    if (options.choice.dryRun) {
        selection->insert("dry_run"_L1, true);
        const Result<QJsonObject> counted =
            session.send("POST", u"/api/v1/accounts"_s + change.verb, *selection);
        if (!counted)
            return fail(counted.error());
        printCounted(session, *counted);
        printSkipped(session, *counted);
        return ExitCode::Ok;
    }
    if (!session.json && !options.choice.yes) {
        const Result<bool> wanted = isWanted(session, change, *selection);
        if (!wanted)
            return fail(wanted.error());
        if (!*wanted) {
            session.complain(u"Nothing was changed."_s);
            return ExitCode::Refused;
        }
    }
    const Result<QJsonObject> answer = sendInParts(session, change.verb, *selection, u"changed"_s);
    if (!answer)
        return fail(answer.error());
    if (session.json) {
        session.print(*answer);
    } else {
        session.print(u"%1 accounts match, %2 are now %3\n"_s.arg(number((*answer)["matched"_L1].toInteger()),
                                                                  number((*answer)["changed"_L1].toInteger()),
                                                                  change.done));
        printSkipped(session, *answer);
    }
    return (*answer)["skipped_count"_L1].toInteger() > 0 ? ExitCode::Refused : ExitCode::Ok;
}

Result<ExitCode> changeState(Session &session, const Change &change, const Options &options)
{
    const bool isNamed = !options.choice.ids.empty() && options.share.empty() && !options.choice.dryRun;
    if (!isNamed)
        return changeMany(session, change, options);
    const Result<QJsonObject> selection = options.choice.selection();
    return selection ? each(session, options.choice.ids, "POST", change.verb, change.done)
                     : fail(selection.error());
}

void addPause(CLI::App &accounts, Session &session)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = accounts.add_subcommand("pause", "Stops renewing");
    options->choice.addTo(command, {});
    const Change change{u"/pause"_s, u"paused"_s,
                        u"Their watches are not renewed any more and lapse within 7 days."_s};
    session.onCalled(command, [&session, options, change] { return changeState(session, change, *options); });
}

void addResume(CLI::App &accounts, Session &session)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = accounts.add_subcommand("resume", "Renews again");
    options->choice.addTo(command, "paused (unless given), parked or needs_reauth");
    command->add_option("--share", options->share,
                        "Only this part of them, for example 10%; a larger one later takes these too");
    const Change change{u"/resume"_s, u"active"_s, u"They are renewed from now on, each when it is due."_s};
    session.onCalled(command, [&session, options, change] { return changeState(session, change, *options); });
}

void addRemove(CLI::App &accounts, Session &session)
{
    auto ids = std::make_shared<std::vector<std::string>>();
    CLI::App *command =
        accounts.add_subcommand("rm", "Stops the watch, destroys the grant and forgets the account");
    command->add_option("id", *ids, "Accounts")->required();
    session.onCalled(command,
                     [&session, ids] { return each(session, *ids, "DELETE", QString(), u"leaving"_s); });
}

} // namespace

void addAccountActions(CLI::App &accounts, Session &session)
{
    addRenew(accounts, session);
    addPause(accounts, session);
    addResume(accounts, session);
    addRemove(accounts, session);
}

} // namespace tidekeeper::cli
