// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/humanize.h"
#include "cli/limiterchange.h"
#include "cli/table.h"

#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr auto right = Table::Align::Right;

QString limiterPath(const std::string &name)
{
    return u"/api/v1/limiters/"_s + segment(name);
}

QString valueText(const QString &name, const QJsonValue &value)
{
    if (value.isBool())
        return value.toBool() ? u"on"_s : u"off"_s;
    if (name == "send_slack"_L1 || name == "key_ttl"_L1)
        return duration(value.toInteger());
    const bool isWhole = value.isDouble() && double(value.toInteger()) == value.toDouble();
    return isWhole ? number(value.toInteger()) : value.toVariant().toString();
}

/// One row for each value whose source is known.
void addValues(Table &table, const QString &prefix, const QJsonObject &values, const QJsonObject &sources)
{
    for (auto source = sources.begin(); source != sources.end(); ++source) {
        if (source->isString() && values.contains(source.key()))
            table.add(
                {prefix + source.key(), valueText(source.key(), values[source.key()]), source->toString()});
    }
}

void addWarnings(QStringList &warnings, const QString &prefix, const QJsonValue &list)
{
    for (const QJsonValue &warning : list.toArray())
        warnings.append(prefix + warning.toString());
}

void printOverrides(Session &session, const QJsonArray &overrides, QStringList &warnings)
{
    Table table({{u"ACCOUNT"_s},
                 {u"PROJECT"_s},
                 {u"CAPACITY"_s, right},
                 {u"PER MIN"_s, right},
                 {u"BULK RESERVE"_s, right},
                 {u"SLOTS"_s, right}});
    for (const QJsonValue &own : overrides) {
        const auto cell = [&own](const QString &name) {
            return own[name].isUndefined() ? u"–"_s : valueText(name, own[name]);
        };
        table.add({own["account"_L1].toString(), own["project"_L1].toString(), cell(u"account_capacity"_s),
                   cell(u"account_refill_per_minute"_s), cell(u"bulk_reserve"_s), cell(u"slots"_s)});
        addWarnings(warnings, own["account"_L1].toString() + u": "_s, own["warnings"_L1]);
    }
    session.print(u'\n' + table.text());
}

void printLimiter(Session &session, const QJsonObject &limiter)
{
    const QJsonObject sources = limiter["sources"_L1].toObject();
    const QJsonObject projects = limiter["projects"_L1].toObject();
    QStringList warnings;
    addWarnings(warnings, {}, limiter["warnings"_L1]);
    Table table({{u"SETTING"_s}, {u"VALUE"_s, right}, {u"SOURCE"_s}});
    addValues(table, {}, limiter, sources);
    for (auto project = projects.begin(); project != projects.end(); ++project) {
        const QJsonObject values = project->toObject();
        table.add({u"projects.%1.preset"_s.arg(project.key()), values["preset"_L1].toString(), u"–"_s});
        addValues(table, u"projects.%1."_s.arg(project.key()), values,
                  sources["projects"_L1][project.key()].toObject());
        addWarnings(warnings, {}, values["warnings"_L1]);
    }
    session.print(table.text());
    if (const QJsonArray overrides = limiter["overrides"_L1].toArray(); !overrides.isEmpty())
        printOverrides(session, overrides, warnings);
    for (const QString &warning : warnings)
        session.print(u"Warning: %1\n"_s.arg(printable(warning)));
}

ExitCode shown(Session &session, const QJsonObject &limiter)
{
    if (session.json)
        session.print(limiter);
    else
        printLimiter(session, limiter);
    return ExitCode::Ok;
}

Result<ExitCode> showLimiter(Session &session, const std::string &name)
{
    const Result<QJsonObject> limiter = session.get(limiterPath(name));
    return limiter ? Result<ExitCode>(shown(session, *limiter)) : fail(limiter.error());
}

Result<ExitCode> setLimiter(Session &session, const LimiterChangeOptions &options)
{
    const Result<QJsonObject> limiter = session.get(limiterPath(options.limiter));
    if (!limiter)
        return fail(limiter.error());
    const Result<LimiterChange> change = limiterChange(*limiter, options);
    if (!change)
        return fail(change.error());
    for (const QString &consequence : change->consequences)
        session.complain(consequence);
    if (!change->consequences.isEmpty() && !isConfirmed(options.yes)) {
        session.complain(u"Nothing was changed."_s);
        return ExitCode::Refused;
    }
    if (change->method == "PATCH" && change->body.isEmpty())
        return shown(session, *limiter);
    const Result<QJsonObject> changed = session.send(
        change->method, limiterPath(options.limiter) + change->path, change->body, change->query);
    return changed ? Result<ExitCode>(shown(session, *changed)) : fail(changed.error());
}

} // namespace

void addLimiter(CLI::App &app, Session &session)
{
    auto options = std::make_shared<LimiterChangeOptions>();
    CLI::App *limiter = app.add_subcommand("limiter", "Limits and settings of the quota limiters");
    limiter->require_subcommand(1);

    CLI::App *show =
        limiter->add_subcommand("show", "Values with their source, limits of single accounts, warnings");
    show->add_option("limiter", options->limiter, "Its name")->capture_default_str();
    session.onCalled(show, [&session, options] { return showLimiter(session, options->limiter); });

    CLI::App *set = limiter->add_subcommand(
        "set", "Changes settings while it runs, in every engine within a second; they win over the file");
    set->add_option("limiter", options->limiter, "Its name")->required();
    set->add_option("settings", options->settings, "KEY=VALUE …: enforce=false, send_slack=3s, slots=5");
    set->add_option("--project", options->project, "Limits of this project, such as account_capacity=400");
    set->add_option(
        "--account", options->account,
        "Limits of this account alone: account_capacity, account_refill_per_minute, bulk_reserve, slots");
    set->add_option("--reset", options->reset, "Returns these, or all, to the file")->expected(0, -1);
    set->add_flag("--yes,-y", options->yes, "Does not ask");
    session.onCalled(set, [&session, options, set] {
        options->resets = set->count("--reset") > 0;
        std::erase(options->reset, std::string()); // what the parser makes of --reset alone
        return setLimiter(session, *options);
    });
}

} // namespace tidekeeper::cli
