// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/table.h"
#include "pluginhost/plugincheck.h"
#include "protocol/pluginview.h"

#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

Result<ExitCode> list(Session &session)
{
    const Result<QJsonObject> answer = session.get(u"/api/v1/plugins"_s);
    if (!answer)
        return fail(answer.error());
    if (session.json) {
        session.print(*answer);
        return ExitCode::Ok;
    }
    const QList<protocol::PluginView> plugins = protocol::pluginsFrom(*answer);
    Table table({{u"ID"_s}, {u"VERSION"_s}, {u"STATE"_s}, {u"REASON"_s}, {u"NAME"_s}});
    for (const protocol::PluginView &plugin : plugins)
        table.add({plugin.id, plugin.version, plugin.state, plugin.reason, plugin.name});
    session.print(table.text());
    for (const protocol::PluginView &plugin : plugins) {
        if (!plugin.text.isEmpty())
            session.print(printable(u"%1: %2 %3"_s.arg(plugin.id, plugin.text, plugin.remedy)) + u'\n');
    }
    return ExitCode::Ok;
}

QJsonObject toJson(const pluginhost::PluginCheck &checked)
{
    const pluginhost::PluginRecord &record = checked.record;
    QJsonObject json{{u"file"_s, record.file},
                     {u"id"_s, record.metadata.id},
                     {u"version"_s, record.metadata.version.toString()},
                     {u"state"_s, pluginhost::toString(record.state)},
                     {u"warnings"_s, QJsonArray::fromStringList(checked.warnings)}};
    if (record.failure) {
        json[u"failure"_s] = QJsonObject{{u"reason"_s, pluginhost::toString(record.failure->reason)},
                                         {u"text"_s, record.failure->text},
                                         {u"remedy"_s, record.failure->remedy}};
    }
    return json;
}

Result<ExitCode> check(Session &session, const std::string &file)
{
    const Result<pluginhost::PluginCheck> checked = pluginhost::checkPlugin(text(file));
    if (!checked)
        return fail(checked.error());
    const pluginhost::PluginRecord &record = checked->record;
    const ExitCode code = record.failure ? ExitCode::Refused : ExitCode::Ok;
    if (session.json) {
        session.print(toJson(*checked));
        return code;
    }
    for (const QString &warning : checked->warnings)
        session.print(u"Warning: %1\n"_s.arg(printable(warning)));
    if (record.failure) {
        session.complain(u"%1: %2 %3"_s.arg(pluginhost::toString(record.failure->reason),
                                            record.failure->text, record.failure->remedy));
        return code;
    }
    session.print(u"%1 %2 is sound.\n"_s.arg(record.metadata.id, record.metadata.version.toString()));
    return code;
}

} // namespace

void addPlugins(CLI::App &app, Session &session)
{
    CLI::App *plugins = app.add_subcommand("plugins", "Plugins and their states");
    session.onCalled(plugins, [&session] { return list(session); });

    CLI::App *plugin = app.add_subcommand("plugin", "For authors of plugins");
    plugin->require_subcommand(1);
    auto file = std::make_shared<std::string>();
    CLI::App *command =
        plugin->add_subcommand("check", "Would the engine take it? Loads the file; no engine needed");
    command->add_option("file", *file, "A built plugin, FILE.so")->required();
    session.onCalled(command, [&session, file] { return check(session, *file); });
}

} // namespace tidekeeper::cli
