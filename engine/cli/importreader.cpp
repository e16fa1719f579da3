// SPDX-License-Identifier: Apache-2.0
#include "cli/importreader.h"

#include <QtCore/QJsonDocument>

using namespace Qt::StringLiterals;

namespace tidekeeper::cli {

namespace {

QByteArray oneLine(const QJsonObject &object)
{
    return QJsonDocument(object).toJson(QJsonDocument::Compact);
}

// A line that is not JSON goes to the engine as it is, which says what is wrong with it.
QByteArray withoutUnknown(const QByteArray &line)
{
    const QJsonDocument document = QJsonDocument::fromJson(line);
    if (!document.isObject())
        return line;
    QJsonObject object = document.object();
    for (const QString &key : object.keys()) {
        if (!importFields().contains(key))
            object.remove(key);
    }
    return oneLine(object);
}

} // namespace

Result<> ImportReader::begin()
{
    if (!m_format.csv)
        return {};
    const std::optional<CsvRecord> header = m_csv.next();
    if (!header)
        return fail(u"usage"_s, u"The file is empty: its first line must name the columns."_s);
    Result<ImportColumns> columns =
        ImportColumns::of(header->fields, m_format.map, m_format.unit, m_format.ignoreUnknown);
    if (!columns)
        return fail(columns.error());
    m_columns = std::move(*columns);
    return {};
}

std::optional<ImportRecord> ImportReader::next()
{
    return m_format.csv ? nextRow() : nextLine();
}

std::optional<ImportRecord> ImportReader::nextLine()
{
    for (;;) {
        const qint64 length = m_file.readLine(m_buffer.data(), m_buffer.size());
        if (length <= 0)
            return std::nullopt;
        QByteArray line(m_buffer.constData(), length);
        m_bytes += line.size();
        ++m_line;
        if (m_line == 1 && line.startsWith("\xef\xbb\xbf"))
            line.remove(0, 3);
        line = line.trimmed();
        if (!line.isEmpty())
            return ImportRecord{m_line, m_format.ignoreUnknown ? withoutUnknown(line) : line};
    }
}

std::optional<ImportRecord> ImportReader::nextRow()
{
    const std::optional<CsvRecord> row = m_csv.next();
    if (!row)
        return std::nullopt;
    if (row->quoteIsOpen) {
        return ImportRecord{row->line,
                            fail(u"malformed_csv"_s, u"A quote that begins on this line is never closed."_s)};
    }
    const Result<QJsonObject> account = m_columns.account(row->fields);
    if (!account)
        return ImportRecord{row->line, fail(account.error())};
    return ImportRecord{row->line, oneLine(*account)};
}

} // namespace tidekeeper::cli
