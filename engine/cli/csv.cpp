// SPDX-License-Identifier: Apache-2.0
#include "cli/csv.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::cli {

namespace {

/// Collects fields over as many lines as the quotes hold them together.
class Collector {
public:
    void add(const QByteArray &line)
    {
        for (qsizetype i = 0; i < line.size(); ++i) {
            const char c = line[i];
            if (m_quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
                m_field += line[++i];
            else if (c == '"' && (m_quoted || m_field.isEmpty()))
                m_quoted = !m_quoted;
            else if (c == ',' && !m_quoted)
                end();
            else
                m_field += c;
        }
    }
    void end()
    {
        m_fields.append(QString::fromUtf8(m_field));
        m_field.clear();
    }
    bool isQuoted() const { return m_quoted; }
    QStringList take() { return std::move(m_fields); }

private:
    QStringList m_fields;
    QByteArray m_field;
    bool m_quoted = false;
};

QByteArray withoutLineEnd(QByteArray line)
{
    if (line.endsWith('\n'))
        line.chop(1);
    if (line.endsWith('\r'))
        line.chop(1);
    return line;
}

} // namespace

QByteArray CsvReader::readLine()
{
    QByteArray line = m_device.readLine();
    m_bytes += line.size();
    ++m_line;
    if (m_line == 1 && line.startsWith("\xef\xbb\xbf"))
        line.remove(0, 3);
    return line;
}

std::optional<CsvRecord> CsvReader::next()
{
    QByteArray line = readLine();
    while (!line.isEmpty() && line.trimmed().isEmpty())
        line = readLine();
    if (line.isEmpty())
        return std::nullopt;
    CsvRecord record{m_line, {}, false};
    Collector collector;
    collector.add(withoutLineEnd(line));
    while (collector.isQuoted()) {
        const QByteArray more = readLine();
        record.quoteIsOpen = more.isEmpty();
        if (more.isEmpty())
            break;
        collector.add("\n" + withoutLineEnd(more));
    }
    collector.end();
    record.fields = collector.take();
    return record;
}

QByteArray csvLine(const QStringList &fields)
{
    QByteArray line;
    for (qsizetype i = 0; i < fields.size(); ++i) {
        QByteArray field = fields[i].toUtf8();
        const bool plain = !field.contains('"') && !field.contains(',') && !field.contains('\n')
            && !field.contains('\r') && field.trimmed().size() == field.size();
        line += i > 0 ? "," : "";
        line += plain ? field : '"' + field.replace('"', "\"\"") + '"';
    }
    return line + "\r\n";
}

} // namespace tidekeeper::cli
