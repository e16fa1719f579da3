// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include "cli/humanize.h"

#include <algorithm>
#include <array>

namespace tidekeeper::cli {

namespace {

bool isWide(char32_t c)
{
    struct Range {
        char32_t first;
        char32_t last;
    };
    static constexpr std::array<Range, 9> wide{{{0x1100, 0x115f},
                                                {0x2e80, 0xa4cf},
                                                {0xac00, 0xd7a3},
                                                {0xf900, 0xfaff},
                                                {0xfe30, 0xfe6f},
                                                {0xff00, 0xff60},
                                                {0xffe0, 0xffe6},
                                                {0x1f300, 0x1faff},
                                                {0x20000, 0x3fffd}}};
    return std::any_of(wide.begin(), wide.end(), [c](const Range &r) { return c >= r.first && c <= r.last; });
}

} // namespace

int displayWidth(const QString &text)
{
    int width = 0;
    for (const uint c : text.toUcs4()) {
        const QChar::Category category = QChar::category(c);
        if (category == QChar::Mark_NonSpacing || category == QChar::Mark_Enclosing
            || category == QChar::Other_Format)
            continue;
        width += isWide(c) ? 2 : 1;
    }
    return width;
}

void Table::add(const QStringList &cells)
{
    Q_ASSERT(cells.size() == m_columns.size());
    QStringList clean;
    for (const QString &cell : cells)
        clean.append(printable(cell));
    m_rows.append(clean);
}

QString Table::text() const
{
    QStringList titles;
    QList<int> widths;
    for (const Column &column : m_columns) {
        titles.append(column.title);
        widths.append(displayWidth(column.title));
    }
    for (const QStringList &row : m_rows) {
        for (qsizetype i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], displayWidth(row[i]));
    }
    QString text = line(titles, widths);
    for (const QStringList &row : m_rows)
        text += line(row, widths);
    return text;
}

QString Table::line(const QStringList &cells, const QList<int> &widths) const
{
    QString line;
    for (qsizetype i = 0; i < cells.size(); ++i) {
        const QString padding(widths[i] - displayWidth(cells[i]), u' ');
        line += m_columns[i].align == Align::Right ? padding + cells[i] : cells[i] + padding;
        line += QLatin1String("  ");
    }
    while (line.endsWith(u' '))
        line.chop(1);
    return line + u'\n';
}

} // namespace tidekeeper::cli
