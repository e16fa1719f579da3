// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/humanize.h"
#include "cli/table.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

const QString wavesPath = u"/api/v1/accounts/waves"_s;

void printWaves(Session &session, const QJsonArray &waves)
{
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    Table table({{u"ID"_s, Table::Align::Right},
                 {u"STATE"_s},
                 {u"PROJECT"_s},
                 {u"CLIENT"_s},
                 {u"FAILURE"_s},
                 {u"ACCOUNTS"_s, Table::Align::Right},
                 {u"OPENED"_s, Table::Align::Right}});
    bool isOpen = false;
    for (const QJsonValue &wave : waves) {
        isOpen = isOpen || wave["state"_L1] == "open"_L1;
        table.add({QString::number(wave["id"_L1].toInteger()), wave["state"_L1].toString(),
                   wave["project"_L1].toString(), wave["client"_L1].toString(), wave["code"_L1].toString(),
                   number(wave["members"_L1].toInteger()),
                   relative(wave["opened_at"_L1].toInteger(), nowMs)});
    }
    session.print(table.text());
    if (isOpen)
        session.print(
            u"The accounts of an open wave are held and lose nothing. Mend its cause and they go on by "
            "themselves; if their grants are really gone: tidekeeper accounts wave confirm ID.\n"_s);
}

Result<ExitCode> listWaves(Session &session)
{
    const Result<QJsonObject> waves = session.get(wavesPath);
    if (!waves)
        return fail(waves.error());
    if (session.json)
        session.print(*waves);
    else
        printWaves(session, waves->value("waves"_L1).toArray());
    return ExitCode::Ok;
}

Result<ExitCode> confirmWave(Session &session, qint64 id, bool yes)
{
    if (!session.json && !yes) {
        session.print(
            u"Each account of wave %1 that still meets its failure will need its owner's consent anew.\n"_s
                .arg(id));
        if (!isConfirmed(yes)) {
            session.complain(u"Nothing was changed."_s);
            return ExitCode::Refused;
        }
    }
    const Result<QJsonObject> wave =
        session.send("POST", u"%1/%2/confirm"_s.arg(wavesPath, QString::number(id)));
    if (!wave)
        return fail(wave.error());
    if (session.json)
        session.print(*wave);
    else
        session.print(
            u"Wave %1 is confirmed: %2 accounts are tried once more, and for 24 hours a lost grant of this "
            "client counts as lost.\n"_s.arg(QString::number(id),
                                             number(wave->value("members"_L1).toInteger())));
    return ExitCode::Ok;
}

} // namespace

void addWaves(CLI::App &accounts, Session &session)
{
    CLI::App *wave = accounts.add_subcommand("wave", "Many accounts that met the same loss at once");
    wave->require_subcommand(1);
    CLI::App *all = wave->add_subcommand("list", "The waves, the newest first");
    session.onCalled(all, [&session] { return listWaves(session); });

    struct Options {
        qint64 id = 0;
        bool yes = false;
    };
    auto options = std::make_shared<Options>();
    CLI::App *confirm = wave->add_subcommand("confirm", "Says that the grants are really gone");
    confirm->add_option("id", options->id, "The wave")->required();
    confirm->add_flag("--yes,-y", options->yes, "Does not ask first");
    session.onCalled(confirm,
                     [&session, options] { return confirmWave(session, options->id, options->yes); });
}

} // namespace tidekeeper::cli
