// SPDX-License-Identifier: Apache-2.0
#include "cli/unknowncommand.h"

#include "core/nearestname.h"

#include <QtCore/QStringList>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

QString unknownCommand(const CLI::App &app)
{
    const CLI::App *deepest = &app;
    QString path = QString::fromStdString(app.get_name());
    while (!deepest->get_subcommands().empty()) {
        deepest = deepest->get_subcommands().front();
        path += u' ' + QString::fromStdString(deepest->get_name());
    }
    QStringList known;
    for (const CLI::App *command : deepest->get_subcommands([](const CLI::App *) { return true; }))
        known.append(QString::fromStdString(command->get_name()));
    if (known.isEmpty())
        return {};
    for (const std::string &word :
         app.remaining(true)) { // a command hands what it does not know to the program
        const QString name = QString::fromStdString(word);
        if (!name.startsWith(u'-'))
            return u"\"%1\" is no command of \"%2\".%3 See %2 --help."_s.arg(name, path,
                                                                             core::didYouMean(name, known));
    }
    return {};
}

} // namespace tidekeeper::cli
