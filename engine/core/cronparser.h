// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/cron.h"

#include <QtCore/QStringList>

namespace tidekeeper::core {

/// Text to masks; used by CronExpression::parse only.
class CronParser {
public:
    Result<CronExpression> parse(const QString &text);

private:
    struct Field {
        QString name; ///< for the sentence and the error's details
        int min;
        int max;
        QStringList names; ///< of the values from min on
    };
    struct Range {
        int first;
        int last;
        int step;
    };

    static Result<quint64> parseField(const Field &field, const QString &text);
    static Result<Range> parseRange(const Field &field, const QString &item);
    static QString valuesOf(const Field &field); ///< for the remedy: "1 to 12 or JAN to DEC"
    static std::optional<int> parseValue(const Field &field, const QString &text);
    Result<> parseDays(const QString &text);
    Result<> parseWeekdays(const QString &text);

    CronExpression m_cron;
};

} // namespace tidekeeper::core
