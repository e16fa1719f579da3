// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "config/config.h"

#include <QtCore/QJsonArray>
#include <QtCore/QProcessEnvironment>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

QMap<QString, QString> environment()
{
    const QProcessEnvironment system = QProcessEnvironment::systemEnvironment();
    QMap<QString, QString> variables;
    for (const QString &name : system.keys())
        variables.insert(name, system.value(name));
    return variables;
}

Result<ExitCode> check(Session &session, const std::string &file)
{
    const Result<config::Config> loaded = config::Config::load(text(file), environment());
    if (session.json) {
        QJsonArray faults;
        if (!loaded) {
            for (const QString &fault : loaded.error().text.split(u'\n'))
                faults.append(fault);
        }
        session.print(QJsonObject{{u"ok"_s, loaded.has_value()}, {u"faults"_s, faults}});
        return loaded ? ExitCode::Ok : ExitCode::Refused;
    }
    if (loaded) {
        session.print(u"The configuration is in order.\n"_s);
        return ExitCode::Ok;
    }
    for (const QString &fault : loaded.error().text.split(u'\n'))
        session.complain(fault);
    return ExitCode::Refused;
}

} // namespace

void addConfig(CLI::App &app, Session &session)
{
    CLI::App *config = app.add_subcommand("config", "The engine's configuration");
    config->require_subcommand(1);
    auto file = std::make_shared<std::string>();
    CLI::App *command =
        config->add_subcommand("check", "Finds every fault of a configuration file; no engine needed");
    command->add_option("--config", *file, "The file; without it only the environment is checked")
        ->type_name("FILE");
    session.onCalled(command, [&session, file] { return check(session, *file); });
}

} // namespace tidekeeper::cli
