// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QHash>
#include <QtCore/QStringList>

namespace tidekeeper::cli {

enum class TimeUnit : quint8 {
    Detect, ///< numbers below 10^11 are seconds, others milliseconds; text is ISO 8601 with its offset
    Milliseconds,
    Seconds,
    Utc, ///< ISO 8601; without an offset it is UTC
};

/// Fields of an account that an import may set, in the order in which an export writes them.
const QStringList &importFields();
/// What an export also tells and an import passes over: the engine's own findings.
const QStringList &findingFields();

/// An instant of a table in epoch ms. Failure: invalid_request, whose text repeats no value.
Result<qint64> instantOf(const QString &text, TimeUnit unit);

/// From the columns of a table to the fields of an account.
class ImportColumns {
public:
    /// map: "field=column", for columns that are not named as their field. Failures: usage (a field or column that
    /// does not exist, or columns that nobody asked for unless those are ignored).
    static Result<ImportColumns> of(const QStringList &header, const QStringList &map, TimeUnit unit,
                                    bool ignoreUnknown);

    /// An empty value is left out, which keeps what is stored. Failure: invalid_request with its field.
    Result<QJsonObject> account(const QStringList &values) const;

private:
    QStringList m_fields; ///< for each column; empty = passed over
    TimeUnit m_unit = TimeUnit::Detect;
};

} // namespace tidekeeper::cli
