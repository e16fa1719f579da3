// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QList>
#include <QtCore/QStringList>

namespace tidekeeper::cli {

/// Columns as wide as their widest cell, two spaces between, numbers to the right.
class Table {
public:
    enum class Align : quint8 { Left, Right };
    struct Column {
        QString title;
        Align align = Align::Left;
    };

    explicit Table(QList<Column> columns) : m_columns(std::move(columns)) { }

    void add(const QStringList &cells); ///< as many as columns; control characters are replaced
    QString text() const; ///< ends with a line feed; only the titles when there is no row

private:
    QString line(const QStringList &cells, const QList<int> &widths) const;

    QList<Column> m_columns;
    QList<QStringList> m_rows;
};

/// Columns that a terminal needs for it: 2 for each East Asian wide character, 0 for combining marks.
int displayWidth(const QString &text);

} // namespace tidekeeper::cli
