// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QIODevice>
#include <QtCore/QStringList>

#include <optional>

namespace tidekeeper::cli {

/// One record of a CSV file and the line on which it begins, from 1.
struct CsvRecord {
    qint64 line = 0;
    QStringList fields;
    bool quoteIsOpen = false; ///< the file ended inside quotes
};

/// Reads CSV as RFC 4180 has it, as psql and sqlite3 write it: quoted fields with commas, line feeds and doubled
/// quotes, CRLF or LF, a byte order mark at the beginning. Blank lines are skipped.
class CsvReader {
public:
    explicit CsvReader(QIODevice &device) : m_device(device) { }

    std::optional<CsvRecord> next();
    qint64 bytesRead() const { return m_bytes; }

private:
    QByteArray readLine();

    QIODevice &m_device;
    qint64 m_line = 0;
    qint64 m_bytes = 0;
};

/// One line of CSV, with CRLF; quoted where it must be.
QByteArray csvLine(const QStringList &fields);

} // namespace tidekeeper::cli
