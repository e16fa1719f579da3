// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/humanize.h"

#include "protocol/accountview.h"

#include <QtCore/QFile>
#include <QtCore/QJsonArray>

#include <cstdio>
#include <unistd.h>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr int mostLines = 1000; ///< of one call, as the API takes them
constexpr qsizetype mostBytes = 900 * 1024; ///< the API takes 1 MiB
constexpr qint64 mostLineBytes = 256 * 1024;

struct ImportOptions {
    std::string file;
    qint64 fromLine = 1;
};

/// Some lines of the file, to be sent in one call.
struct Batch {
    qint64 firstLine = 1;
    int lines = 0;
    QByteArray text;
};

Batch nextBatch(QFile &file, qint64 firstLine)
{
    Batch batch{firstLine, 0, {}};
    while (batch.lines < mostLines && batch.text.size() < mostBytes - mostLineBytes) {
        QByteArray line = file.readLine(mostLineBytes);
        if (line.isEmpty())
            break;
        if (!line.endsWith('\n'))
            line += '\n';
        batch.text += line;
        ++batch.lines;
    }
    return batch;
}

/// On a terminal: how much of the file is done. Nothing otherwise.
class ProgressBar {
public:
    explicit ProgressBar(qint64 total)
        : m_total(total), m_shown(total > 0 && ::isatty(STDERR_FILENO) == 1) { }

    void show(qint64 done) const
    {
        if (!m_shown)
            return;
        constexpr int width = 40;
        const int filled = int(width * done / m_total);
        std::fprintf(stderr, "\r[%s%s] %3d %%", std::string(size_t(filled), '#').c_str(),
                     std::string(size_t(width - filled), ' ').c_str(), int(100 * done / m_total));
    }
    void clear() const
    {
        if (m_shown)
            std::fprintf(stderr, "\r\x1b[K");
    }

private:
    qint64 m_total;
    bool m_shown;
};

struct Totals {
    qint64 created = 0;
    qint64 updated = 0;
    qint64 unchanged = 0;
    QJsonArray errors;
};

void add(Session &session, Totals &totals, const protocol::ImportView &view, qint64 firstLine)
{
    totals.created += view.created;
    totals.updated += view.updated;
    totals.unchanged += view.unchanged;
    for (const protocol::ImportErrorView &error : view.errors) {
        const qint64 line = firstLine + error.line - 1;
        session.complain(u"line %1: %2"_s.arg(QString::number(line), error.text));
        totals.errors.append(QJsonObject{
            {u"line"_s, line}, {u"code"_s, error.code}, {u"field"_s, error.field}, {u"text"_s, error.text}});
    }
}

void report(Session &session, const Totals &totals)
{
    if (session.json) {
        session.print(QJsonObject{{u"created"_s, totals.created},
                                  {u"updated"_s, totals.updated},
                                  {u"unchanged"_s, totals.unchanged},
                                  {u"failed"_s, totals.errors.size()},
                                  {u"errors"_s, totals.errors}});
        return;
    }
    session.print(u"%1 created, %2 updated, %3 unchanged, %4 with errors\n"_s.arg(
        number(totals.created), number(totals.updated), number(totals.unchanged),
        number(totals.errors.size())));
}

Result<> open(QFile &file, const std::string &name)
{
    file.setFileName(text(name));
    const bool opened = name == "-" ? file.open(stdin, QIODevice::ReadOnly) : file.open(QIODevice::ReadOnly);
    if (opened)
        return {};
    return fail(u"usage"_s, u"%1 cannot be read: %2."_s.arg(text(name), file.errorString()));
}

Result<ExitCode> import(Session &session, const ImportOptions &options)
{
    QFile file;
    if (const Result<> opened = open(file, options.file); !opened)
        return fail(opened.error());
    qint64 line = 1;
    for (; line < options.fromLine && !file.readLine().isEmpty(); ++line) { }

    const ProgressBar bar(file.isSequential() ? 0 : file.size());
    Totals totals;
    for (Batch batch = nextBatch(file, line); batch.lines > 0; batch = nextBatch(file, line)) {
        line += batch.lines;
        if (batch.text.trimmed().isEmpty())
            continue;
        const Result<QJsonObject> answer = session.sendLines(u"/api/v1/accounts/import"_s, batch.text);
        bar.clear();
        if (!answer) {
            report(session, totals);
            session.complain(u"Everything before line %1 is imported. Go on with --from-line %1."_s.arg(
                QString::number(batch.firstLine)));
            return fail(answer.error());
        }
        add(session, totals, protocol::importFrom(*answer), batch.firstLine);
        bar.show(file.pos());
    }
    bar.clear();
    report(session, totals);
    return totals.errors.isEmpty() ? ExitCode::Ok : ExitCode::Refused;
}

} // namespace

void addImport(CLI::App &accounts, Session &session)
{
    auto options = std::make_shared<ImportOptions>();
    CLI::App *command =
        accounts.add_subcommand("import", "Adds or updates accounts from a file of JSON lines");
    command->add_option("file", options->file, "The file, or - for standard input")->required();
    command->add_option("--from-line", options->fromLine, "Begins there, to go on after an interruption")
        ->check(CLI::PositiveNumber);
    command->footer(
        "Each line: {\"id\": …, \"email\": …, \"refresh_token\": …, \"watch_expires_at\": …}. What a "
        "line leaves out\nkeeps its value, so that the same file can be imported again.");
    session.onCalled(command, [&session, options] { return import(session, *options); });
}

} // namespace tidekeeper::cli
