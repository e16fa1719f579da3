// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/importreader.h"
#include "cli/progressbar.h"

#include "protocol/accountview.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>

#include <cstdio>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr int mostLines = 1000; ///< of one call, as the API takes them
constexpr qsizetype mostBytes = 640 * 1024; ///< the API takes 1 MiB, and one line more may come

struct ImportOptions {
    std::string file;
    std::string format;
    std::vector<std::string> map;
    TimeUnit unit = TimeUnit::Detect;
    std::string rejects;
    qint64 fromLine = 1;
    bool ignoreUnknown = false;
    bool paused = false;
    bool dryRun = false;
};

/// Some accounts of the file, to be sent in one call.
struct Batch {
    QByteArray text;
    QList<qint64> lines; ///< of the file, for each line of text
    qint64 firstLine = 0;
};

struct Totals {
    qint64 created = 0;
    qint64 updated = 0;
    qint64 unchanged = 0;
    QJsonArray errors;
};

/// One run of the command.
class Import {
public:
    Import(Session &session, const ImportOptions &options) : m_session(session), m_options(options) { }

    Result<ExitCode> run();

private:
    Result<> open();
    ImportFormat format() const;
    Batch nextBatch(ImportReader &reader);
    Result<> send(const Batch &batch);
    void refuse(qint64 line, const QString &code, const QString &field, const QString &text);
    void report();

    Session &m_session;
    const ImportOptions &m_options;
    QFile m_file;
    QFile m_rejects;
    Totals m_totals;
    qint64 m_accounts = 0;
};

Result<> Import::open()
{
    m_file.setFileName(text(m_options.file));
    const bool opened =
        m_options.file == "-" ? m_file.open(stdin, QIODevice::ReadOnly) : m_file.open(QIODevice::ReadOnly);
    if (!opened)
        return fail(u"usage"_s, u"%1 cannot be read: %2."_s.arg(text(m_options.file), m_file.errorString()));
    m_rejects.setFileName(text(m_options.rejects));
    if (!m_options.rejects.empty() && !m_rejects.open(QIODevice::WriteOnly)) {
        return fail(u"usage"_s,
                    u"%1 cannot be written: %2."_s.arg(text(m_options.rejects), m_rejects.errorString()));
    }
    return {};
}

ImportFormat Import::format() const
{
    ImportFormat format;
    const bool named = m_file.fileName().endsWith(".csv"_L1, Qt::CaseInsensitive);
    format.csv = m_options.format.empty() ? named : m_options.format == "csv";
    for (const std::string &pair : m_options.map)
        format.map.append(text(pair));
    format.unit = m_options.unit;
    format.ignoreUnknown = m_options.ignoreUnknown;
    return format;
}

Batch Import::nextBatch(ImportReader &reader)
{
    Batch batch;
    while (batch.lines.size() < mostLines && batch.text.size() < mostBytes) {
        const std::optional<ImportRecord> record = reader.next();
        if (!record)
            break;
        if (record->line < m_options.fromLine)
            continue;
        if (batch.firstLine == 0)
            batch.firstLine = record->line;
        if (!record->json) {
            const Error &error = record->json.error();
            refuse(record->line, error.code, error.details["field"_L1].toString(), error.text);
            continue;
        }
        batch.text += *record->json + '\n';
        batch.lines.append(record->line);
    }
    return batch;
}

void Import::refuse(qint64 line, const QString &code, const QString &field, const QString &text)
{
    const QJsonObject error{{u"line"_s, line}, {u"code"_s, code}, {u"field"_s, field}, {u"text"_s, text}};
    if (m_rejects.isOpen())
        m_rejects.write(QJsonDocument(error).toJson(QJsonDocument::Compact) + '\n');
    else
        m_session.complain(u"line %1: %2"_s.arg(QString::number(line), text));
    m_totals.errors.append(error);
}

Result<> Import::send(const Batch &batch)
{
    QUrlQuery query;
    if (m_options.paused)
        query.addQueryItem(u"paused"_s, u"true"_s);
    if (m_options.dryRun)
        query.addQueryItem(u"dry_run"_s, u"true"_s);
    const Result<QJsonObject> answer = m_session.sendLines(u"/api/v1/accounts/import"_s, batch.text, query);
    if (!answer)
        return fail(answer.error());
    const protocol::ImportView view = protocol::importFrom(*answer);
    m_totals.created += view.created;
    m_totals.updated += view.updated;
    m_totals.unchanged += view.unchanged;
    for (const protocol::ImportErrorView &error : view.errors)
        refuse(batch.lines.value(error.line - 1), error.code, error.field, error.text);
    m_accounts += batch.lines.size();
    return {};
}

void Import::report()
{
    if (m_session.json) {
        m_session.print(QJsonObject{{u"created"_s, m_totals.created},
                                    {u"updated"_s, m_totals.updated},
                                    {u"unchanged"_s, m_totals.unchanged},
                                    {u"failed"_s, m_totals.errors.size()},
                                    {u"dry_run"_s, m_options.dryRun},
                                    {u"errors"_s, m_totals.errors}});
        return;
    }
    m_session.print(u"%1%2 created, %3 updated, %4 unchanged, %5 with errors\n"_s.arg(
        m_options.dryRun ? u"Nothing was changed. It would be: "_s : QString(), number(m_totals.created),
        number(m_totals.updated), number(m_totals.unchanged), number(m_totals.errors.size())));
}

Result<ExitCode> Import::run()
{
    if (const Result<> opened = open(); !opened)
        return fail(opened.error());
    ImportReader reader(m_file, format());
    if (const Result<> begun = reader.begin(); !begun)
        return fail(begun.error());
    const ProgressBar bar(m_file.isSequential() ? 0 : m_file.size());
    for (Batch batch = nextBatch(reader); batch.firstLine > 0; batch = nextBatch(reader)) {
        const Result<> sent = batch.lines.isEmpty() ? Result<>() : send(batch);
        bar.clear();
        if (!sent) {
            report();
            m_session.complain(u"Everything before line %1 is imported. Go on with --from-line %1."_s.arg(
                QString::number(batch.firstLine)));
            return fail(sent.error());
        }
        bar.show(reader.bytesRead(), m_accounts);
    }
    bar.clear();
    report();
    return m_totals.errors.isEmpty() ? ExitCode::Ok : ExitCode::Refused;
}

} // namespace

void addImport(CLI::App &accounts, Session &session)
{
    auto options = std::make_shared<ImportOptions>();
    CLI::App *command = accounts.add_subcommand("import", "Adds or updates accounts from JSON lines or CSV");
    command->add_option("file", options->file, "The file, or - for standard input")->required();
    command->add_option("--format", options->format, "jsonl or csv; else by the name of the file")
        ->check(CLI::IsMember({"jsonl", "csv"}));
    command->add_option("--map", options->map, "CSV: FIELD=COLUMN[,…], for columns not named as their field")
        ->delimiter(',');
    const std::map<std::string, TimeUnit> units{{"detect", TimeUnit::Detect},
                                                {"ms", TimeUnit::Milliseconds},
                                                {"s", TimeUnit::Seconds},
                                                {"utc", TimeUnit::Utc}};
    command
        ->add_option("--time-unit", options->unit,
                     "CSV: detect (ms, s, or ISO 8601 with its offset), ms, s, or utc (ISO 8601)")
        ->transform(CLI::CheckedTransformer(units).description("detect, ms, s or utc"));
    command->add_flag("--ignore-unknown", options->ignoreUnknown, "Passes over columns that are no fields");
    command->add_flag("--paused", options->paused,
                      "New accounts begin paused: nothing calls Google for them");
    command->add_flag("--dry-run", options->dryRun, "Checks every line and changes nothing");
    command->add_option("--rejects", options->rejects, "Writes the errors there, as JSON lines");
    command->add_option("--from-line", options->fromLine, "Begins there, to go on after an interruption")
        ->check(CLI::PositiveNumber);
    command->footer(
        "Each line: {\"id\": …, \"email\": …, \"refresh_token\": …, \"watch_expires_at\": …}. What a "
        "line leaves out\nkeeps its value, so that the same file can be imported again. From a database:\n"
        "  psql -c \"copy (select * from mailboxes) to stdout csv header\" |\n"
        "    tidekeeper accounts import - --format csv --map id=user_id,email=mail");
    session.onCalled(command, [&session, options] { return Import(session, *options).run(); });
}

} // namespace tidekeeper::cli
