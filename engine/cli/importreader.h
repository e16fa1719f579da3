// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/csv.h"
#include "cli/importcolumns.h"

#include <QtCore/QFile>

namespace tidekeeper::cli {

/// One account of the file: a line of JSON to be sent, or what is wrong with it.
struct ImportRecord {
    qint64 line = 0;
    Result<QByteArray> json;
};

struct ImportFormat {
    bool csv = false;
    QStringList map;
    TimeUnit unit = TimeUnit::Detect;
    bool ignoreUnknown = false;
};

/// Reads accounts from JSON lines or CSV, one at a time: a file may be larger than memory.
class ImportReader {
public:
    ImportReader(QFile &file, ImportFormat format)
        : m_file(file), m_format(std::move(format)), m_csv(file), m_buffer(mostLineBytes, '\0')
    { }

    /// The header of CSV. Failure: usage.
    Result<> begin();
    std::optional<ImportRecord> next();
    qint64 bytesRead() const { return m_format.csv ? m_csv.bytesRead() : m_bytes; }

private:
    static constexpr qint64 mostLineBytes = 256 * 1024;

    std::optional<ImportRecord> nextLine();
    std::optional<ImportRecord> nextRow();

    QFile &m_file;
    const ImportFormat m_format;
    CsvReader m_csv;
    ImportColumns m_columns;
    QByteArray
        m_buffer; ///< of the longest line: one for all, since Qt reserves as much for each line it reads
    qint64 m_line = 0;
    qint64 m_bytes = 0;
};

} // namespace tidekeeper::cli
