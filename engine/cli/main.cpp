// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/unknowncommand.h"

#include <QtCore/QCoreApplication>

namespace {

constexpr auto exitCodes = R"(Exit codes:
  0  done
  1  the engine said no, or what was checked is not in order
  2  the command line is wrong
  3  no engine answers
  4  the engine answers, but something is wrong with it (status)

Without --url the engine of this machine is asked: its address and token are in the files endpoint and
admin.token of its state folder ($TIDEKEEPER_STATE_DIR, else $XDG_STATE_HOME/tidekeeper or
~/.local/state/tidekeeper, else /var/lib/tidekeeper).)";

} // namespace

int main(int argc, char **argv)
{
    using namespace tidekeeper::cli;
    const QCoreApplication application(argc, argv);
    Session session;

    CLI::App app("Tidekeeper's command line: what the engine does, and how to tell it.", "tidekeeper");
    app.footer(exitCodes);
    app.set_version_flag("--version", TIDEKEEPER_VERSION);
    app.require_subcommand(1);
    app.fallthrough(); // so that --json may stand at the end
    app.add_option("--url", session.url, "The engine's address, for example http://127.0.0.1:8787")
        ->envname("TIDEKEEPER_URL")
        ->type_name("URL");
    app.add_option("--token-file", session.tokenFile, "File with the token for calls")
        ->envname("TIDEKEEPER_TOKEN_FILE")
        ->type_name("FILE");
    app.add_option("--ca-file", session.caFile, "Certificates to trust for https, instead of the system's")
        ->envname("TIDEKEEPER_CA_FILE")
        ->type_name("FILE");
    app.add_flag("--json", session.json, "JSON for programs instead of tables for people");

    addStatus(app, session);
    addAccounts(app, session);
    addLimiter(app, session);
    addBuckets(app, session);
    addSchedules(app, session);
    addCron(app, session);
    addQueue(app, session);
    addPlugins(app, session);
    addConfig(app, session);
    addSimulate(app, session);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        const bool lacksSomething = dynamic_cast<const CLI::RequiredError *>(&error) != nullptr;
        if (const QString wrong = lacksSomething ? unknownCommand(app) : QString(); !wrong.isEmpty()) {
            session.complain(wrong);
            return int(ExitCode::Usage);
        }
        const bool wasHelp = app.exit(error) == 0; // prints help, version or what is wrong
        return int(wasHelp ? ExitCode::Ok : ExitCode::Usage);
    }
    return int(session.exitCode());
}
