// SPDX-License-Identifier: Apache-2.0
#include "cli/accountchoice.h"
#include "cli/commands.h"
#include "cli/humanize.h"

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

Result<ExitCode> renewMatching(Session &session, const AccountChoice &choice)
{
    Result<QJsonObject> selection = choice.selection();
    if (!selection)
        return fail(selection.error());
    selection->insert("dry_run"_L1, choice.dryRun);
    const Result<QJsonObject> answer = session.send("POST", u"/api/v1/accounts/renew"_s, *selection);
    if (!answer)
        return fail(answer.error());
    const QString matched = number(answer->value("matched"_L1).toInteger());
    if (session.json)
        session.print(*answer);
    else if (choice.dryRun)
        session.print(u"%1 accounts match (dry run: none was queued)\n"_s.arg(matched));
    else
        session.print(u"%1 accounts match, %2 queued for renewal\n"_s.arg(
            matched, number(answer->value("enqueued"_L1).toInteger())));
    return ExitCode::Ok;
}

} // namespace

void addRenew(CLI::App &accounts, Session &session)
{
    auto choice = std::make_shared<AccountChoice>();
    CLI::App *command = accounts.add_subcommand("renew", "Renews watches now");
    choice->addTo(command, {});
    session.onCalled(command, [&session, choice] {
        return choice->ids.empty() ? renewMatching(session, *choice)
                                   : each(session, choice->ids, "POST", u"/renew"_s, u"queued for renewal"_s);
    });
}

} // namespace tidekeeper::cli
