// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "config/config.h"
#include "pluginhost/searchpath.h"
#include "pluginhost/sectioncheck.h"

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

struct CheckOptions {
    std::string file;
    std::vector<std::string> pluginPath;
};

/// One sentence each. The plugins' sections are looked at when the rest is in order.
QStringList faultsOf(const CheckOptions &options)
{
    const Result<config::Config> loaded = config::Config::load(text(options.file), environment());
    if (!loaded)
        return loaded.error().text.split(u'\n');
    QStringList folders;
    for (const std::string &folder : options.pluginPath)
        folders.append(text(folder));
    QStringList faults;
    const QStringList searchPath = pluginhost::searchPath(folders + loaded->pluginPath);
    for (const Error &fault : pluginhost::checkSections(searchPath, loaded->plugins))
        faults.append(fault.text);
    return faults;
}

ExitCode check(Session &session, const CheckOptions &options)
{
    const QStringList faults = faultsOf(options);
    if (session.json)
        session.print(
            QJsonObject{{u"ok"_s, faults.isEmpty()}, {u"faults"_s, QJsonArray::fromStringList(faults)}});
    else if (faults.isEmpty())
        session.print(u"The configuration is in order.\n"_s);
    else
        for (const QString &fault : faults)
            session.complain(fault);
    return faults.isEmpty() ? ExitCode::Ok : ExitCode::Refused;
}

} // namespace

void addConfig(CLI::App &app, Session &session)
{
    CLI::App *config = app.add_subcommand("config", "The engine's configuration");
    config->require_subcommand(1);
    auto options = std::make_shared<CheckOptions>();
    CLI::App *command =
        config->add_subcommand("check", "Finds every fault of a configuration file; no engine needed");
    command->add_option("--config", options->file, "The file; without it only the environment is checked")
        ->type_name("FILE");
    command
        ->add_option("--plugin-path", options->pluginPath,
                     "Another folder with plugins, searched first; may be repeated")
        ->type_name("DIR")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    session.onCalled(command, [&session, options] { return check(session, *options); });
}

} // namespace tidekeeper::cli
