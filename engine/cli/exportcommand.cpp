// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/csv.h"
#include "cli/humanize.h"
#include "cli/importcolumns.h"
#include "cli/progressbar.h"

#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>

#include <cstdio>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

struct ExportOptions {
    std::string format = "jsonl";
    std::string output;
    std::string state;
    std::string project;
    std::string band;
};

QStringList exportedFields()
{
    QStringList fields = importFields() + findingFields();
    fields.removeAll(u"refresh_token"_s);
    return fields;
}

// What can be imported again, and the engine's findings. Secrets are not there: the API never tells them.
QJsonObject exported(const QJsonObject &account)
{
    QJsonObject object;
    for (const QString &field : exportedFields()) {
        const QJsonValue value = account[field];
        if (!value.isUndefined() && !value.isNull() && value != QJsonValue(QString()) && field != "grant"_L1)
            object.insert(field, value);
    }
    const QString kind = account["grant_kind"_L1].toString();
    if (kind == "http"_L1 || kind == "delegated"_L1) {
        QJsonObject grant = account["grant"_L1].toObject();
        grant.insert(u"kind"_s, kind);
        object.insert(u"grant"_s, grant);
    }
    return object;
}

QString cell(const QJsonValue &value)
{
    if (value.isObject())
        return QString::fromUtf8(QJsonDocument(value.toObject()).toJson(QJsonDocument::Compact));
    if (value.isArray())
        return value.toVariant().toStringList().join(u',');
    if (value.isBool())
        return value.toBool() ? u"true"_s : u"false"_s;
    return value.isDouble() ? QString::number(value.toInteger()) : value.toString();
}

QByteArray lineOf(const QJsonObject &account, bool csv)
{
    if (!csv)
        return QJsonDocument(account).toJson(QJsonDocument::Compact) + '\n';
    QStringList cells;
    for (const QString &field : exportedFields())
        cells.append(cell(account[field]));
    return csvLine(cells);
}

// In the order of ids: whatever changes meanwhile, no account is told twice or left out.
QUrlQuery pageQuery(const ExportOptions &options, const QString &cursor)
{
    QUrlQuery query;
    const std::pair<QString, QString> items[]{
        {u"state"_s, text(options.state)}, {u"project"_s, text(options.project)},
        {u"band"_s, text(options.band)},   {u"sort"_s, u"id"_s},
        {u"limit"_s, u"1000"_s},           {u"cursor"_s, cursor}};
    for (const auto &[name, value] : items) {
        if (!value.isEmpty())
            query.addQueryItem(name, QString::fromLatin1(QUrl::toPercentEncoding(value)));
    }
    return query;
}

Result<> open(QFile &file, const std::string &name)
{
    file.setFileName(text(name));
    const bool opened = name.empty() || name == "-"
        ? file.open(stdout, QIODevice::WriteOnly)
        : file.open(QIODevice::WriteOnly, QFile::ReadOwner | QFile::WriteOwner); // it holds addresses
    if (opened)
        return {};
    return fail(u"usage"_s, u"%1 cannot be written: %2."_s.arg(text(name), file.errorString()));
}

Result<ExitCode> exportAccounts(Session &session, const ExportOptions &options)
{
    const bool csv = options.format == "csv";
    QFile file;
    if (const Result<> opened = open(file, options.output); !opened)
        return fail(opened.error());
    if (csv)
        file.write(csvLine(exportedFields()));
    std::optional<ProgressBar> bar;
    qint64 written = 0;
    QString cursor;
    do {
        const Result<QJsonObject> page = session.get(u"/api/v1/accounts"_s, pageQuery(options, cursor));
        if (!page)
            return fail(page.error());
        if (!bar)
            bar.emplace((*page)["total"_L1].toInteger());
        const QJsonArray accounts = (*page)["accounts"_L1].toArray();
        for (const QJsonValue &account : accounts)
            file.write(lineOf(exported(account.toObject()), csv));
        if (!file.flush())
            return fail(u"usage"_s, u"The export stopped: %1."_s.arg(file.errorString()));
        written += accounts.size();
        bar->show(written, written);
        cursor = (*page)["next_cursor"_L1].toString();
    } while (!cursor.isEmpty());
    bar->clear();
    if (!options.output.empty() && options.output != "-")
        session.print(u"%1 accounts exported\n"_s.arg(number(written)));
    return ExitCode::Ok;
}

} // namespace

void addExport(CLI::App &accounts, Session &session)
{
    auto options = std::make_shared<ExportOptions>();
    CLI::App *command = accounts.add_subcommand("export", "Writes accounts as JSON lines or CSV");
    command->add_option("--format", options->format, "jsonl (default) or csv")
        ->check(CLI::IsMember({"jsonl", "csv"}));
    command->add_option("--output,-o", options->output, "A file instead of standard output");
    command->add_option("--state", options->state, "Only accounts in this state");
    command->add_option("--project", options->project, "Only accounts of this project");
    command->add_option("--band", options->band, "Only accounts in this band");
    command->footer(
        "Refresh tokens are never exported. The file can be imported again: what is stored stays.");
    session.onCalled(command, [&session, options] { return exportAccounts(session, *options); });
}

} // namespace tidekeeper::cli
