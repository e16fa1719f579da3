// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/progressbar.h"
#include "cli/simulateoptions.h"
#include "cli/table.h"

#include "simulate/simulation.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

QString times(double ratio)
{
    return u"%1 ×"_s.arg(ratio, 0, 'f', 1);
}

QString tableOf(const QList<simulate::Figures> &all)
{
    using Align = Table::Align;
    Table table({{u"POLICY"_s},
                 {u"LAPSED"_s, Align::Right},
                 {u"LAPSE HOURS"_s, Align::Right},
                 {u"GRANTS LOST"_s, Align::Right},
                 {u"CALLS/H"_s, Align::Right},
                 {u"PEAK"_s, Align::Right},
                 {u""_s, Align::Right},
                 {u"IN RECOVERY"_s, Align::Right},
                 {u""_s, Align::Right}});
    for (const simulate::Figures &figures : all)
        table.add({figures.policy, number(figures.lapsed), number(figures.lapseMs / core::hourMs),
                   number(figures.grantsLost), number(qRound64(figures.meanPerHour)),
                   number(figures.peakPerHour), times(figures.peakRatio()),
                   number(figures.recoveryPeakPerHour), times(figures.recoveryPeakRatio())});
    return table.text();
}

Result<ExitCode> simulateAll(Session &session, const SimulateOptions &options)
{
    const Result<simulate::Scenario> scenario = scenarioOf(options, QDateTime::currentMSecsSinceEpoch());
    if (!scenario)
        return fail(scenario.error());
    const Result<QList<simulate::PolicyKind>> kinds = policiesOf(options);
    if (!kinds)
        return fail(kinds.error());

    constexpr qint64 whole = 1000;
    const ProgressBar bar(whole * kinds->size());
    QList<simulate::Figures> all;
    for (const simulate::PolicyKind kind : *kinds) {
        const qint64 before = whole * all.size();
        all.append(simulate::simulate(*scenario, kind, [&](double share) {
            bar.show(before + static_cast<qint64>(whole * share), simulate::toString(kind));
        }));
    }
    bar.clear();

    if (session.json) {
        QJsonArray policies;
        for (const simulate::Figures &figures : all)
            policies.append(figures.toJson());
        session.print(QJsonObject{{u"accounts"_s, scenario->count()},
                                  {u"days"_s, scenario->days},
                                  {u"seed"_s, qint64(scenario->seed)},
                                  {u"policies"_s, policies}});
        return ExitCode::Ok;
    }
    session.print(tableOf(all));
    return ExitCode::Ok;
}

void addWorld(CLI::App &command, SimulateOptions &options)
{
    command.add_option("--accounts", options.accounts, "How many")
        ->check(CLI::Range(1, 2'000'000))
        ->capture_default_str();
    command.add_option("--days", options.days, "How long")->check(CLI::Range(1, 366))->capture_default_str();
    command
        .add_option("--cluster", options.cluster,
                    "The first expiries lie within so much; 7d: evenly in a week")
        ->capture_default_str();
    command
        .add_option("--expiries", options.expiries,
                    "Real ones instead: a file with an epoch ms or an exported "
                    "account in each line")
        ->type_name("FILE");
    command.add_option("--lifetime", options.lifetime, "Of a watch")->capture_default_str();
    command.add_option("--call-time", options.callTime, "How long Google takes for an answer")
        ->capture_default_str();
    command.add_option("--outage", options.outages,
                       "KIND=LENGTH@START, for example google=24h@10d; kinds: worker, "
                       "google, network, secret, grants, topic; may be repeated");
    command.add_option("--errors", options.errors, "Share of calls that are answered 5xx")
        ->capture_default_str();
    command.add_option("--revoked", options.revoked, "Share of users who revoke")->capture_default_str();
    command.add_option("--lost-answers", options.lostAnswers, "Share of watches whose answer is lost")
        ->capture_default_str();
    command.add_option("--seed", options.seed, "Of everything random")->capture_default_str();
}

} // namespace

void addSimulate(CLI::App &app, Session &session)
{
    auto options = std::make_shared<SimulateOptions>();
    CLI::App *command = app.add_subcommand(
        "simulate", "What weeks of trouble do to watches, in virtual time; no engine needed");
    addWorld(*command, *options);
    command->add_option("--window", options->window, "Ours: how long before its expiry a watch is due")
        ->capture_default_str();
    command->add_option("--batch-size", options->batchSize, "Ours: accounts of one scan")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    command->add_option("--consumers", options->consumers, "Renewals at the same time, of every policy")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    command->add_option("--policy", options->policies,
                        "ours, expiry-day or fifty-per-hour; may be repeated; all");
    session.onCalled(command, [&session, options] { return simulateAll(session, *options); });
}

} // namespace tidekeeper::cli
