// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::config {

Result<qint64> parseDuration(const QString &text)
{
    static const QRegularExpression form(u"^(\\d{1,12})(ms|s|m|h|d)$"_s);
    static const QHash<QString, qint64> unitMs{
        {u"ms"_s, 1}, {u"s"_s, 1'000}, {u"m"_s, 60'000}, {u"h"_s, 3'600'000}, {u"d"_s, 86'400'000}};
    const QRegularExpressionMatch match = form.match(text);
    if (!match.hasMatch())
        return fail(u"invalid_duration"_s,
                    u"\"%1\" is not a duration: write a whole number and a unit, such as \"250ms\", \"2s\", "
                    u"\"15m\", \"6h\" or \"7d\"."_s.arg(text));
    return match.captured(1).toLongLong() * unitMs.value(match.captured(2));
}

} // namespace tidekeeper::config
