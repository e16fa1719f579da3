// SPDX-License-Identifier: Apache-2.0
#include "renewal/breakerscope.h"

#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr std::array<QLatin1StringView, 3> kinds{"configuration"_L1, "transient"_L1, "wave"_L1};
constexpr std::array<QLatin1StringView, 3> steps{"token"_L1, "quota"_L1, "watch"_L1};

/// What an engine of another version may have written counts as the first.
template<typename Enum>
Enum from(const std::array<QLatin1StringView, 3> &words, const QString &word)
{
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? Enum() : static_cast<Enum>(std::distance(words.begin(), found));
}

QString domainOf(const core::Account &account)
{
    return account.email.section(u'@', -1);
}

} // namespace

BreakerKind kindOf(const store::BreakerRow &row)
{
    return from<BreakerKind>(kinds, row.fault.value("kind"_L1).toString());
}

core::Breaker::Pace paceOf(const store::BreakerRow &row)
{
    return kindOf(row) == BreakerKind::Transient ? core::Breaker::Pace::Steady
                                                 : core::Breaker::Pace::Doubling;
}

Fault faultOf(const store::BreakerRow &row)
{
    const QString scope = row.fault.value("scope"_L1).toString();
    Fault fault;
    fault.step = from<Step>(steps, row.fault.value("step"_L1).toString());
    fault.grant =
        core::grantKindFrom(row.fault.value("grant_kind"_L1).toString()).value_or(core::GrantKind::Stored);
    for (const auto each : {core::FaultScope::Client, core::FaultScope::Project, core::FaultScope::Domain}) {
        if (scope == toString(each))
            fault.scope = each;
    }
    return fault;
}

QString scopeOf(core::FaultScope scope, const core::Account &account)
{
    switch (scope) {
    case core::FaultScope::Project:
        return u"project\n"_s + account.project;
    case core::FaultScope::Client:
        return u"client\n"_s + account.project + u'\n' + account.client;
    case core::FaultScope::Domain:
        return u"domain\n"_s + account.project + u'\n' + account.client + u'\n' + domainOf(account);
    }
    Q_UNREACHABLE();
}

QString pauseScope(const QString &project)
{
    return u"pause\n"_s + project;
}

bool stops(const store::BreakerRow &row, const core::Account &account)
{
    if (kindOf(row) == BreakerKind::Wave)
        return row.fault.value("project"_L1) == account.project
            && row.fault.value("client"_L1) == account.client;
    if (kindOf(row) == BreakerKind::Transient)
        return row.scope == pauseScope(account.project);
    return row.scope == scopeOf(faultOf(row).scope, account);
}

QJsonObject faultObject(BreakerKind kind, const core::Account &account, const Attempted &attempted)
{
    const core::Outcome &outcome = attempted.outcome;
    const core::FaultScope scope = kind == BreakerKind::Transient ? core::FaultScope::Project : outcome.scope;
    QJsonObject fault{{u"kind"_s, kinds.at(static_cast<size_t>(kind))},
                      {u"scope"_s, toString(scope)},
                      {u"project"_s, account.project},
                      {u"code"_s, outcome.code},
                      {u"text"_s, outcome.text},
                      {u"remedy"_s, outcome.remedy},
                      {u"step"_s, steps.at(static_cast<size_t>(attempted.step))},
                      {u"grant_kind"_s, toString(account.grantKind)}};
    if (scope != core::FaultScope::Project)
        fault.insert(u"client"_s, account.client);
    if (scope == core::FaultScope::Domain)
        fault.insert(u"domain"_s, domainOf(account));
    return fault;
}

QJsonObject shown(const store::BreakerRow &row)
{
    QJsonObject object = row.fault;
    object.remove("step"_L1);
    object.remove("grant_kind"_L1);
    return object;
}

} // namespace tidekeeper::renewal
