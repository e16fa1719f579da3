// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QMap>
#include <QtCore/QStringList>

#include <optional>

namespace gmailquota {

/// What one call of each Gmail API method costs, in units. Google has two tables in force: projects that used the
/// API before May 2026 keep the old one, together with the old limits.
class CostTable {
public:
    enum class Generation : quint8 { Legacy, Of2026 };

    explicit CostTable(Generation generation) : m_generation(generation) { }

    /// Another cost of a method, or that of one which is in no table. cost: units, 0 … 10⁹.
    void replace(const QString &method, qint64 cost) { m_replaced.insert(method, cost); }

    /// method: full name, "gmail.users.threads.get". Null for a method that is not in the tables. What Google does
    /// not list in the table of 2026 costs what it cost before.
    std::optional<qint64> cost(const QString &method) const;

    struct Dearest {
        QString method;
        qint64 cost = 0;
    };
    /// The most that a single call costs, and a method that costs it.
    Dearest dearest() const;

    /// Known names that resemble a mistyped one, best first, at most three.
    QStringList nearest(const QString &method) const;

private:
    Generation m_generation;
    QMap<QString, qint64> m_replaced; ///< by full name
};

} // namespace gmailquota
