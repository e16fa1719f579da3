// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/table.h"

#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr auto right = Table::Align::Right;

QString onOff(const QJsonValue &value)
{
    return value.toBool() ? u"on"_s : u"off"_s;
}

void printLimiter(Session &session, const QJsonObject &limiter)
{
    Table table({{u"PROJECT"_s},
                 {u"PRESET"_s},
                 {u"ACCOUNT"_s, right},
                 {u"PER MIN"_s, right},
                 {u"PROJECT UNITS"_s, right},
                 {u"PER MIN"_s, right},
                 {u"ENFORCE"_s},
                 {u"FAIL OPEN"_s}});
    QStringList warnings;
    const QJsonObject projects = limiter["projects"_L1].toObject();
    for (auto project = projects.begin(); project != projects.end(); ++project) {
        const QJsonObject p = project->toObject();
        table.add({project.key(), p["preset"_L1].toString(), number(p["account_capacity"_L1].toInteger()),
                   number(p["account_refill_per_minute"_L1].toInteger()),
                   number(p["project_capacity"_L1].toInteger()),
                   number(p["project_refill_per_minute"_L1].toInteger()), onOff(p["enforce"_L1]),
                   onOff(p["fail_open"_L1])});
        for (const QJsonValue &warning : p["warnings"_L1].toArray())
            warnings.append(warning.toString());
    }
    session.print(table.text());
    for (const QString &warning : warnings)
        session.print(u"Warning: %1\n"_s.arg(printable(warning)));
}

Result<ExitCode> showLimiter(Session &session, const std::string &name)
{
    const Result<QJsonObject> limiter = session.get(u"/api/v1/limiters/"_s + segment(name));
    if (!limiter)
        return fail(limiter.error());
    if (session.json)
        session.print(*limiter);
    else
        printLimiter(session, *limiter);
    return ExitCode::Ok;
}

} // namespace

void addLimiter(CLI::App &app, Session &session)
{
    struct Options {
        std::string limiter = "gmail";
    };
    auto options = std::make_shared<Options>();

    CLI::App *limiter = app.add_subcommand("limiter", "Limits of the quota limiters");
    limiter->require_subcommand(1);
    CLI::App *show = limiter->add_subcommand("show", "Limits and settings by project");
    show->add_option("limiter", options->limiter, "Its name")->capture_default_str();
    session.onCalled(show, [&session, options] { return showLimiter(session, options->limiter); });
}

} // namespace tidekeeper::cli
