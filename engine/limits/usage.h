// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

#include <map>
#include <utility>

namespace tidekeeper::limits {

/// What this engine's clients did with one limiter since its start, for metrics.
struct Usage {
    struct Amount {
        qint64 calls = 0;
        qint64 units = 0;
        void add(qint64 more)
        {
            ++calls;
            units += more;
        }
    };

    std::map<std::pair<QString, QString>, qint64>
        decisions; ///< by lane and "granted", "degraded" or what refused
    std::map<QString, qint64> unitsByCaller; ///< granted; "" = unnamed
    std::map<QString, qint64> reports; ///< by what they said: "ok", "account", "project"
    Amount refunds; ///< units of the account given back
    Amount
        chargedButRefused; ///< charged here and then refused by the API: nobody knows whether it counts them

    /// Callers are names that clients make up: of so many the units are told apart, the rest is "other".
    static constexpr std::size_t mostCallers = 50;

    void granted(const QString &caller, qint64 units)
    {
        const bool isKnown = caller.isEmpty() || unitsByCaller.contains(caller);
        const std::size_t named =
            unitsByCaller.size() - unitsByCaller.count({}) - unitsByCaller.count(other());
        unitsByCaller[isKnown || named < mostCallers ? caller : other()] += units;
    }

private:
    static QString other() { return QStringLiteral("other"); }
};

} // namespace tidekeeper::limits
