// SPDX-License-Identifier: Apache-2.0
#include "core/oautherror.h"

#include <QtCore/QJsonDocument>

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

struct Fault {
    int status = 0;
    QString code; ///< "error"
    QString subtype; ///< "error_subtype"
    QString description; ///< "error_description", at most 200 characters
    QString errorClass; ///< "error_class"
};

Fault parse(const TokenAnswer &answer)
{
    const QJsonObject body = QJsonDocument::fromJson(answer.body).object();
    return {answer.status, body.value("error"_L1).toString(), body.value("error_subtype"_L1).toString(),
            body.value("error_description"_L1).toString().left(200), body.value("error_class"_L1).toString()};
}

QString sentence(const Fault &fault)
{
    QString text = u"The token endpoint answered %1"_s.arg(fault.status);
    if (!fault.code.isEmpty())
        text += u" "_s + fault.code;
    if (!fault.description.isEmpty())
        text += u": "_s + fault.description;
    return text.endsWith(u'.') ? text : text + u'.';
}

QString codeOf(const Fault &fault)
{
    return fault.code.isEmpty() ? u"http_%1"_s.arg(fault.status) : fault.code;
}

Outcome transientFault(const Fault &fault)
{
    return Outcome::transient(codeOf(fault), sentence(fault));
}

bool wantsReauthentication(const Fault &fault)
{
    constexpr std::array words{"invalid_rapt"_L1, "rapt_required"_L1};
    return std::any_of(words.begin(), words.end(), [&](QLatin1StringView word) {
        return fault.code == word || fault.subtype == word || fault.description.contains(word);
    });
}

/// Codes that say that our own registration is at fault, whatever the HTTP status (seen with 400, 401 and 403).
struct ConfigurationRow {
    QLatin1StringView code;
    QLatin1StringView remedy;
};

constexpr std::array configurationRows{
    ConfigurationRow{"invalid_client"_L1,
                     "Compare client_id and the content of client_secret_file with the OAuth "
                     "client in the Google Cloud console."_L1},
    ConfigurationRow{"deleted_client"_L1,
                     "The OAuth client was deleted: restore it in the Google Cloud console, or "
                     "configure another and let the users consent again."_L1},
    ConfigurationRow{"disabled_client"_L1,
                     "The OAuth client is disabled: enable it in the Google Cloud console."_L1},
    ConfigurationRow{"unauthorized_client"_L1,
                     "Allow this client the requested scopes; for delegation, add its client "
                     "id and scopes under domain-wide delegation in the Admin console."_L1},
    ConfigurationRow{"restricted_client"_L1,
                     "This client may not ask for these scopes: review the scopes of the OAuth "
                     "client."_L1},
    ConfigurationRow{"invalid_scope"_L1, "Correct the scopes that are asked for."_L1},
    ConfigurationRow{"unsupported_grant_type"_L1, "Check oauth_url: this is not Google's token endpoint."_L1},
    ConfigurationRow{"invalid_request"_L1, "Check client_id, client_secret_file and oauth_url."_L1},
};

std::optional<Outcome> configurationFault(const Fault &fault, GrantKind grant)
{
    const auto row = std::find_if(configurationRows.begin(), configurationRows.end(),
                                  [&](const ConfigurationRow &r) { return fault.code == r.code; });
    if (row == configurationRows.end())
        return std::nullopt;
    const bool perDomain = grant == GrantKind::Delegated && fault.code == "unauthorized_client"_L1;
    return Outcome::configuration(perDomain ? FaultScope::Domain : FaultScope::Client, fault.code,
                                  sentence(fault), row->remedy);
}

/// A service account has no grant of the user's that could be lost: its invalid_grant is about the user's address,
/// our key or our clock.
Outcome delegatedInvalidGrant(const Fault &fault)
{
    constexpr std::array unknownUser{"Invalid email or User ID"_L1, "Not a valid email"_L1, "deleted"_L1};
    const bool noUser = std::any_of(unknownUser.begin(), unknownUser.end(), [&](QLatin1StringView text) {
        return fault.description.contains(text, Qt::CaseInsensitive);
    });
    if (noUser)
        return Outcome::account(AccountState::Parked, u"no_such_user"_s, sentence(fault));
    return Outcome::configuration(FaultScope::Client, fault.code, sentence(fault),
                                  u"Check the service account's key file and this machine's clock."_s);
}

/// What the owner's own token service says outright.
std::optional<Outcome> declaredFault(const Fault &fault)
{
    if (fault.errorClass == "revoked"_L1 && fault.status == 400)
        return Outcome::revoked(codeOf(fault), sentence(fault));
    if (fault.errorClass == "configuration"_L1)
        return Outcome::configuration(FaultScope::Client, codeOf(fault), sentence(fault),
                                      u"Ask whoever runs the token service."_s);
    if (fault.errorClass == "account"_L1)
        return Outcome::account(AccountState::Parked, codeOf(fault), sentence(fault));
    if (fault.errorClass == "transient"_L1)
        return transientFault(fault);
    return std::nullopt;
}

} // namespace

std::optional<TokenGrant> tokenGrantFrom(const TokenAnswer &answer)
{
    if (answer.status < 200 || answer.status > 299)
        return std::nullopt;
    const QJsonObject body = QJsonDocument::fromJson(answer.body).object();
    // Some servers send the number as a string.
    const qint64 expiresInS = body.value("expires_in"_L1).toVariant().toLongLong();
    TokenGrant grant{body.value("access_token"_L1).toString(), expiresInS,
                     body.value("refresh_token"_L1).toString()};
    if (grant.accessToken.isEmpty() || grant.expiresInS <= 0)
        return std::nullopt;
    return grant;
}

Outcome tokenFailure(const TokenAnswer &answer, GrantKind grant)
{
    if (answer.status == 0)
        return Outcome::transient(answer.transportCode, answer.transportText);
    if (answer.status < 400)
        return Outcome::transient(
            u"malformed_answer"_s,
            u"The token endpoint answered %1 without a usable token."_s.arg(answer.status));
    const Fault fault = parse(answer);
    if (fault.status >= 500 || fault.status == 408)
        return Outcome::transient(u"http_%1"_s.arg(fault.status), sentence(fault));
    if (grant == GrantKind::Http) {
        if (const std::optional<Outcome> declared = declaredFault(fault))
            return *declared;
    }
    if (wantsReauthentication(fault))
        return Outcome::account(AccountState::NeedsReauth, u"invalid_rapt"_s, sentence(fault));
    if (fault.code == "invalid_grant"_L1 && fault.status == 400)
        return grant == GrantKind::Delegated ? delegatedInvalidGrant(fault)
                                             : Outcome::revoked(fault.code, sentence(fault));
    if (fault.code == "access_denied"_L1 || fault.code == "admin_policy_enforced"_L1)
        return Outcome::account(AccountState::Parked, fault.code, sentence(fault));
    if (fault.code == "invalid_request"_L1 && fault.description.contains("Invalid impersonation"_L1))
        return Outcome::account(AccountState::Parked, u"no_such_user"_s, sentence(fault));
    if (const std::optional<Outcome> configuration = configurationFault(fault, grant))
        return *configuration;
    return transientFault(fault);
}

} // namespace tidekeeper::core
