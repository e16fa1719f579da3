// SPDX-License-Identifier: Apache-2.0
#include "costtable.h"

#include "nearest.h"

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

} // namespace

std::optional<qint64> CostTable::cost(const QString &method) const
{
    if (const auto own = m_replaced.constFind(method); own != m_replaced.constEnd())
        return *own;
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

CostTable::Dearest CostTable::dearest() const
{
    Dearest dearest;
    const auto look = [&dearest](const QString &method, qint64 cost) {
        if (cost > dearest.cost)
            dearest = {method, cost};
    };
    for (auto own = m_replaced.begin(); own != m_replaced.end(); ++own)
        look(own.key(), *own);
    for (const Row &row : table) {
        const QString method = prefix + row.method;
        if (!m_replaced.contains(method))
            look(method, costOf(row, m_generation));
    }
    return dearest;
}

QStringList CostTable::nearest(const QString &method) const
{
    const auto withoutPrefix = [](const QString &name) {
        return name.startsWith(prefix, Qt::CaseInsensitive) ? name.mid(prefix.size()) : name;
    };
    QMap<QString, QString> known; // full names by the part that differs
    for (const Row &row : table)
        known.insert(row.method, prefix + row.method);
    for (const QString &own : m_replaced.keys())
        known.insert(withoutPrefix(own), own);
    QStringList near = nearestOf(withoutPrefix(method), known.keys());
    for (QString &name : near)
        name = known[name];
    return near;
}

} // namespace gmailquota
