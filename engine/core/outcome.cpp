// SPDX-License-Identifier: Apache-2.0
#include "core/outcome.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr std::array<QLatin1StringView, 10> kinds{
    "renewed"_L1, "gone"_L1,          "rate"_L1,    "transient"_L1,       "unauthorized"_L1,
    "revoked"_L1, "configuration"_L1, "account"_L1, "owned_elsewhere"_L1, "local"_L1};

std::optional<OutcomeKind> kindFrom(const QString &text)
{
    const auto found = std::find(kinds.begin(), kinds.end(), text);
    // Local is ours alone: a provider cannot answer it.
    if (found == kinds.end() || *found == "local"_L1)
        return std::nullopt;
    return static_cast<OutcomeKind>(std::distance(kinds.begin(), found));
}

FaultScope scopeFrom(const QString &text)
{
    if (text == "project"_L1)
        return FaultScope::Project;
    return text == "domain"_L1 ? FaultScope::Domain : FaultScope::Client;
}

Outcome make(OutcomeKind kind, QString code, QString text)
{
    Outcome outcome;
    outcome.kind = kind;
    outcome.code = std::move(code);
    outcome.text = std::move(text);
    return outcome;
}

} // namespace

QString toString(OutcomeKind kind)
{
    return kinds.at(static_cast<size_t>(kind));
}

QString toString(FaultScope scope)
{
    switch (scope) {
    case FaultScope::Client:
        return u"client"_s;
    case FaultScope::Project:
        return u"project"_s;
    case FaultScope::Domain:
        return u"domain"_s;
    }
    Q_UNREACHABLE();
}

Outcome Outcome::transient(QString code, QString text)
{
    return make(OutcomeKind::Transient, std::move(code), std::move(text));
}

Outcome Outcome::local(QString code, QString text)
{
    return make(OutcomeKind::Local, std::move(code), std::move(text));
}

Outcome Outcome::rate(QString code, QString text, qint64 until)
{
    Outcome outcome = make(OutcomeKind::Rate, std::move(code), std::move(text));
    outcome.until = until;
    return outcome;
}

Outcome Outcome::revoked(QString code, QString text, QString remedy)
{
    Outcome outcome = make(OutcomeKind::Revoked, std::move(code), std::move(text));
    outcome.remedy = std::move(remedy);
    return outcome;
}

Outcome Outcome::configuration(FaultScope scope, QString code, QString text, QString remedy)
{
    Outcome outcome = make(OutcomeKind::Configuration, std::move(code), std::move(text));
    outcome.scope = scope;
    outcome.remedy = std::move(remedy);
    return outcome;
}

Outcome Outcome::account(AccountState state, QString reason, QString text, QString remedy)
{
    Outcome outcome = make(OutcomeKind::Account, std::move(reason), std::move(text));
    outcome.accountState = state;
    outcome.remedy = std::move(remedy);
    return outcome;
}

Outcome outcomeFrom(const Status &status, const QJsonObject &result)
{
    if (!status.ok())
        return Outcome::transient(status.code, status.text);
    const QString word = result.value("outcome"_L1).toString();
    const std::optional<OutcomeKind> kind = kindFrom(word);
    if (!kind)
        return Outcome::transient(u"malformed_answer"_s,
                                  u"The provider plugin answered the unknown outcome \"%1\"."_s.arg(word));

    Outcome outcome = make(*kind, result.value("code"_L1).toString(word), result.value("text"_L1).toString());
    outcome.expiresAt = result.value("expires_at"_L1).toInteger();
    outcome.endedAt = result.value("ended_at"_L1).toInteger();
    outcome.data = result.value("data"_L1).toObject();
    outcome.until = result.value("until"_L1).toInteger();
    outcome.remedy = result.value("remedy"_L1).toString();
    outcome.scope = scopeFrom(result.value("scope"_L1).toString());
    outcome.wholeProject = *kind == OutcomeKind::Rate && outcome.scope == FaultScope::Project;
    if (*kind == OutcomeKind::Account) {
        outcome.code = result.value("reason"_L1).toString(outcome.code);
        const bool reauth = result.value("state"_L1) == "needs_reauth"_L1;
        outcome.accountState = reauth ? AccountState::NeedsReauth : AccountState::Parked;
    }
    if (*kind == OutcomeKind::Renewed && outcome.expiresAt <= 0)
        return Outcome::transient(u"malformed_answer"_s,
                                  u"The provider says renewed but gives no usable expiry."_s);
    return outcome;
}

} // namespace tidekeeper::core
