// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "core/cron.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

struct CronOptions {
    std::string expression;
    std::string zone = "UTC";
    std::string from;
    int n = 5;
};

/// An instant with its zone; a time of day without one would mean something else on every machine.
Result<qint64> instantFrom(const std::string &iso)
{
    const QDateTime at = QDateTime::fromString(text(iso), Qt::ISODateWithMs);
    if (!at.isValid() || at.timeSpec() == Qt::LocalTime) {
        return fail(u"usage"_s,
                    u"--from %1 is not an instant. Write for example 2026-03-08T00:00:00Z or "
                    "2026-03-08T00:00:00-05:00."_s.arg(text(iso)));
    }
    return at.toMSecsSinceEpoch();
}

Result<ExitCode> next(Session &session, const CronOptions &options)
{
    qint64 afterMs = QDateTime::currentMSecsSinceEpoch();
    if (!options.from.empty()) {
        const Result<qint64> from = instantFrom(options.from);
        if (!from)
            return fail(from.error());
        afterMs = *from;
    }
    const Result<QList<qint64>> fires = core::nextFires(
        text(options.expression), QByteArray::fromStdString(options.zone), afterMs, options.n);
    if (!fires)
        return fail(fires.error());
    QJsonArray instants;
    for (const qint64 at : *fires)
        instants.append(QDateTime::fromMSecsSinceEpoch(at, Qt::UTC).toString(Qt::ISODate));
    if (session.json) {
        session.print(QJsonObject{{u"next"_s, instants}});
        return ExitCode::Ok;
    }
    for (const QJsonValue &at : std::as_const(instants))
        session.print(at.toString() + u'\n');
    return ExitCode::Ok;
}

} // namespace

void addCron(CLI::App &app, Session &session)
{
    auto options = std::make_shared<CronOptions>();
    CLI::App *cron = app.add_subcommand("cron", "Cron patterns, without an engine");
    cron->require_subcommand(1);
    CLI::App *command = cron->add_subcommand("next", "When a pattern fires next");
    command->add_option("expression", options->expression, "Five fields, or six with seconds first")
        ->required();
    command->add_option("--tz", options->zone, "IANA zone, for example America/New_York")
        ->capture_default_str();
    command->add_option("--from", options->from, "After this instant, for example 2026-03-08T00:00:00Z; now");
    command->add_option("-n", options->n, "How many")->check(CLI::Range(1, 1000))->capture_default_str();
    session.onCalled(command, [&session, options] { return next(session, *options); });
}

} // namespace tidekeeper::cli
