// SPDX-License-Identifier: Apache-2.0
#include "core/account.h"

#include <array>
#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr std::array<std::pair<AccountState, QLatin1StringView>, 5> states{{
    {AccountState::Active, "active"_L1},
    {AccountState::Paused, "paused"_L1},
    {AccountState::NeedsReauth, "needs_reauth"_L1},
    {AccountState::Parked, "parked"_L1},
    {AccountState::Leaving, "leaving"_L1},
}};

constexpr std::array<std::pair<GrantKind, QLatin1StringView>, 4> grantKinds{{
    {GrantKind::None, "none"_L1},
    {GrantKind::Stored, "stored"_L1},
    {GrantKind::Http, "http"_L1},
    {GrantKind::Delegated, "delegated"_L1},
}};

template<typename Table, typename Value>
QString nameOf(const Table &table, Value value)
{
    for (const auto &[candidate, name] : table) {
        if (candidate == value)
            return name;
    }
    Q_UNREACHABLE();
}

template<typename Table>
auto valueOf(const Table &table, const QString &text) -> std::optional<typename Table::value_type::first_type>
{
    for (const auto &[value, name] : table) {
        if (name == text)
            return value;
    }
    return std::nullopt;
}

} // namespace

QString toString(AccountState state)
{
    return nameOf(states, state);
}

QString toString(GrantKind kind)
{
    return nameOf(grantKinds, kind);
}

std::optional<AccountState> accountStateFrom(const QString &text)
{
    return valueOf(states, text);
}

QStringList accountStateNames()
{
    QStringList names;
    for (const auto &[state, name] : states)
        names.append(name);
    return names;
}

std::optional<GrantKind> grantKindFrom(const QString &text)
{
    return valueOf(grantKinds, text);
}

QString normalizedEmail(const QString &email)
{
    QString result = email.trimmed();
    for (QChar &c : result) {
        if (c >= u'A' && c <= u'Z')
            c = QChar(c.unicode() + (u'a' - u'A'));
    }
    return result;
}

} // namespace tidekeeper::core
