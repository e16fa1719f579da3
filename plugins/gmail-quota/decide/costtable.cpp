// SPDX-License-Identifier: Apache-2.0
#include "costtable.h"

#include <QtCore/QSet>

#include <algorithm>
#include <array>
#include <string_view>

using namespace Qt::StringLiterals;

namespace gmailquota {

namespace {

struct Row {
    QLatin1StringView method; ///< without "gmail.users."
    int legacy;
    int of2026;
};

constexpr QLatin1StringView prefix("gmail.users.");

// Google's page "Usage limits" (developers.google.com/workspace/gmail/api/reference/quota) before and after
// 1 May 2026. Sorted by name. Where the new page lists no cost, the old one stands in both columns.
constexpr std::array table = {
    Row{"drafts.create"_L1, 10, 10},
    Row{"drafts.delete"_L1, 10, 10},
    Row{"drafts.get"_L1, 5, 20},
    Row{"drafts.list"_L1, 5, 5},
    Row{"drafts.send"_L1, 100, 100},
    Row{"drafts.update"_L1, 15, 15},
    Row{"getProfile"_L1, 1, 1},
    Row{"history.list"_L1, 2, 2},
    Row{"labels.create"_L1, 5, 5},
    Row{"labels.delete"_L1, 5, 5},
    Row{"labels.get"_L1, 1, 1},
    Row{"labels.list"_L1, 1, 1},
    Row{"labels.update"_L1, 5, 5},
    Row{"messages.attachments.get"_L1, 5, 20},
    Row{"messages.batchDelete"_L1, 50, 50},
    Row{"messages.batchModify"_L1, 50, 50},
    Row{"messages.delete"_L1, 10, 10},
    Row{"messages.get"_L1, 5, 20},
    Row{"messages.import"_L1, 25, 25},
    Row{"messages.insert"_L1, 25, 25},
    Row{"messages.list"_L1, 5, 5},
    Row{"messages.modify"_L1, 5, 5},
    Row{"messages.send"_L1, 100, 100},
    Row{"messages.trash"_L1, 5, 20},
    Row{"messages.untrash"_L1, 5, 5},
    Row{"settings.delegates.create"_L1, 100, 100},
    Row{"settings.delegates.delete"_L1, 5, 5},
    Row{"settings.delegates.get"_L1, 1, 1},
    Row{"settings.delegates.list"_L1, 1, 1},
    Row{"settings.filters.create"_L1, 5, 5},
    Row{"settings.filters.delete"_L1, 5, 5},
    Row{"settings.filters.get"_L1, 1, 1},
    Row{"settings.filters.list"_L1, 1, 1},
    Row{"settings.forwardingAddresses.create"_L1, 100, 100},
    Row{"settings.forwardingAddresses.delete"_L1, 5, 5},
    Row{"settings.forwardingAddresses.get"_L1, 1, 1},
    Row{"settings.forwardingAddresses.list"_L1, 1, 1},
    Row{"settings.getAutoForwarding"_L1, 1, 1},
    Row{"settings.getImap"_L1, 1, 1},
    Row{"settings.getPop"_L1, 1, 1},
    Row{"settings.getVacation"_L1, 1, 1},
    Row{"settings.sendAs.create"_L1, 100, 100},
    Row{"settings.sendAs.delete"_L1, 5, 5},
    Row{"settings.sendAs.get"_L1, 1, 1},
    Row{"settings.sendAs.list"_L1, 1, 1},
    Row{"settings.sendAs.update"_L1, 100, 100},
    Row{"settings.sendAs.verify"_L1, 100, 100},
    Row{"settings.updateAutoForwarding"_L1, 5, 5},
    Row{"settings.updateImap"_L1, 5, 5},
    Row{"settings.updatePop"_L1, 100, 100},
    Row{"settings.updateVacation"_L1, 5, 5},
    Row{"stop"_L1, 50, 50},
    Row{"threads.delete"_L1, 20, 20},
    Row{"threads.get"_L1, 10, 40},
    Row{"threads.list"_L1, 10, 10},
    Row{"threads.modify"_L1, 10, 10},
    Row{"threads.trash"_L1, 10, 20},
    Row{"threads.untrash"_L1, 10, 10},
    Row{"watch"_L1, 100, 100},
};

constexpr bool byName(const Row &a, const Row &b)
{
    return std::string_view(a.method.data(), a.method.size())
        < std::string_view(b.method.data(), b.method.size());
}
static_assert(std::is_sorted(table.begin(), table.end(), byName));

int costOf(const Row &row, CostTable::Generation generation)
{
    return generation == CostTable::Generation::Legacy ? row.legacy : row.of2026;
}

QSet<QString> pairsOfLetters(QStringView name)
{
    const QString lower = name.toString().toLower();
    QSet<QString> pairs;
    for (qsizetype i = 0; i + 1 < lower.size(); ++i)
        pairs.insert(lower.mid(i, 2));
    return pairs;
}

} // namespace

std::optional<qint64> CostTable::cost(const QString &method) const
{
    if (!method.startsWith(prefix))
        return std::nullopt;
    const QStringView name = QStringView(method).sliced(prefix.size());
    const auto row = std::lower_bound(table.begin(), table.end(), name, [](const Row &r, QStringView wanted) {
        return r.method.compare(wanted) < 0;
    });
    if (row == table.end() || row->method != name)
        return std::nullopt;
    return costOf(*row, m_generation);
}

qint64 CostTable::largestCost() const
{
    qint64 largest = 0;
    for (const Row &row : table)
        largest = std::max<qint64>(largest, costOf(row, m_generation));
    return largest;
}

QStringList CostTable::nearest(const QString &method)
{
    constexpr qsizetype longestCompared = 100;
    constexpr double alike = 0.5; // of the pairs of letters of both names are shared
    constexpr qsizetype most = 3;

    const QString name = method.left(longestCompared);
    const QSet<QString> wanted =
        pairsOfLetters(name.startsWith(prefix, Qt::CaseInsensitive) ? name.mid(prefix.size()) : name);
    QList<std::pair<double, QString>> candidates;
    for (const Row &row : table) {
        const QSet<QString> pairs = pairsOfLetters(QString(row.method));
        const qsizetype shared = (QSet<QString>(pairs) & wanted).size();
        const double likeness = 2.0 * shared / std::max<qsizetype>(1, pairs.size() + wanted.size());
        if (likeness >= alike)
            candidates.append({likeness, prefix + row.method});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto &a, const auto &b) { return a.first > b.first; });
    QStringList names;
    for (const auto &[likeness, candidate] : candidates.mid(0, most))
        names.append(candidate);
    return names;
}

} // namespace gmailquota
