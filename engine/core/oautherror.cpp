// SPDX-License-Identifier: Apache-2.0
#include "core/oautherror.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QRegularExpression>

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qsizetype mostCode = 64; ///< characters; Google's longest has 24

struct Fault {
    int status = 0;
    QString code; ///< "error"
    QString subtype; ///< "error_subtype"
    QString description; ///< "error_description", at most 200 characters
    QString errorClass; ///< "error_class"
};

/// A description may name the user, above all that of an owner's own service.
QString withoutAddresses(QString text)
{
    static const QRegularExpression address(u"[^\\s<>\"'@]+@[^\\s<>\"'@]+"_s);
    return text.replace(address, u"(address)"_s);
}

Fault parse(const TokenAnswer &answer)
{
    const QJsonObject body = QJsonDocument::fromJson(answer.body).object();
    return {answer.status, body.value("error"_L1).toString().left(mostCode),
            body.value("error_subtype"_L1).toString(),
            withoutAddresses(body.value("error_description"_L1).toString()).left(200),
            body.value("error_class"_L1).toString()};
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

enum class Meaning : quint8 {
    Revoked, ///< the user's grant is gone
    NeedsReauth, ///< the user has to sign in again; the token is good again after that
    Parked, ///< this account only, until somebody changes something
    Client, ///< configuration: our own registration, the same for every account of the client
    Domain ///< configuration of one Workspace domain
};

enum class Grants : quint8 { All, OfUsers, Delegated };

/// One known answer of a token endpoint. A row matches when all that is filled in holds; the first one counts.
struct TokenRow {
    int status; ///< 0 = any 4xx: Google has been seen to use several
    QLatin1StringView error;
    QLatin1StringView word; ///< is "error" or "error_subtype", or part of "error_description"
    Grants grants;
    Meaning meaning;
    QLatin1StringView code; ///< empty = "error"
    QLatin1StringView remedy;
};

constexpr QLatin1StringView any;
constexpr auto connectAgain =
    "Let the user connect the mailbox again; the new refresh token makes the account due."_L1;
constexpr auto signInAgain =
    "The domain's session control wants its users to sign in again: let the user connect the "
    "mailbox again."_L1;
constexpr auto unknownUser = "Correct the account's \"sub\", or remove the account if the user is gone."_L1;
constexpr auto askAdmin =
    "Ask the administrator of the user's domain to allow this app, then resume the account."_L1;

// Sources: developers.google.com/identity/protocols/oauth2, RFC 6749 section 5.2, Chromium's
// oauth2_access_token_fetcher_impl.cc, and what was seen where a row says so.
constexpr std::array tokenRows{
    TokenRow{0, any, "invalid_rapt"_L1, Grants::All, Meaning::NeedsReauth, "invalid_rapt"_L1, signInAgain},
    TokenRow{0, any, "rapt_required"_L1, Grants::All, Meaning::NeedsReauth, "invalid_rapt"_L1, signInAgain},

    // A service account has no grant of the user's that could be lost: its invalid_grant is about the user's address,
    // our key or our clock.
    TokenRow{400, "invalid_grant"_L1, "Invalid email or User ID"_L1, Grants::Delegated, Meaning::Parked,
             "no_such_user"_L1, unknownUser},
    TokenRow{400, "invalid_grant"_L1, "Not a valid email"_L1, Grants::Delegated, Meaning::Parked,
             "no_such_user"_L1, unknownUser},
    TokenRow{400, "invalid_grant"_L1, "deleted"_L1, Grants::Delegated, Meaning::Parked, "no_such_user"_L1,
             unknownUser},
    TokenRow{0, "invalid_request"_L1, "Invalid impersonation"_L1, Grants::All, Meaning::Parked,
             "no_such_user"_L1, unknownUser},
    TokenRow{400, "invalid_grant"_L1, any, Grants::Delegated, Meaning::Client, any,
             "Check the service account's key file and this machine's clock."_L1},
    TokenRow{0, "unauthorized_client"_L1, any, Grants::Delegated, Meaning::Domain, any,
             "Add the service account's client id and its scopes under domain-wide delegation in the Admin "
             "console of "
             "this Workspace domain."_L1},

    // Whatever its description: "Token has been expired or revoked.", "Bad Request", "Account has been deleted". A real
    // 400 only: xorbitsai/xagent#1544 lost grants to wrapped ones.
    TokenRow{400, "invalid_grant"_L1, any, Grants::OfUsers, Meaning::Revoked, any, connectAgain},

    TokenRow{0, "access_denied"_L1, any, Grants::All, Meaning::Parked, any, askAdmin},
    TokenRow{0, "admin_policy_enforced"_L1, any, Grants::All, Meaning::Parked, any, askAdmin},
    // A refresh token of another client: the fault of one account must not stop the others. Where it is the client's,
    // many accounts meet it and it is told as a wave.
    TokenRow{
        0, "unauthorized_client"_L1, any, Grants::OfUsers, Meaning::Parked, any,
        "The refresh token was given to another OAuth client, or this client may not refresh it: correct the "
        "account's client, or let the user connect the mailbox again."_L1},

    // simonrob/email-oauth2-proxy#362
    TokenRow{
        0, "invalid_client"_L1, any, Grants::All, Meaning::Client, any,
        "Compare client_id and the content of client_secret_file with the OAuth client in the Google Cloud "
        "console."_L1},
    // googleapis/google-api-nodejs-client#1256
    TokenRow{0, "deleted_client"_L1, any, Grants::All, Meaning::Client, any,
             "The OAuth client was deleted: restore it in the Google Cloud console, or configure another and "
             "let the "
             "users consent again."_L1},
    TokenRow{0, "disabled_client"_L1, any, Grants::All, Meaning::Client, any,
             "The OAuth client is disabled: enable it in the Google Cloud console."_L1},
    TokenRow{0, "restricted_client"_L1, any, Grants::All, Meaning::Client, any,
             "This client may not ask for these scopes: review the scopes of the OAuth client."_L1},
    // bergercookie/syncall#18
    TokenRow{0, "invalid_scope"_L1, any, Grants::All, Meaning::Client, any,
             "Correct the scopes that are asked for."_L1},
    TokenRow{0, "unsupported_grant_type"_L1, any, Grants::All, Meaning::Client, any,
             "Check oauth_url: this is not Google's token endpoint."_L1},
    TokenRow{0, "invalid_request"_L1, any, Grants::All, Meaning::Client, any,
             "Check client_id, client_secret_file and oauth_url."_L1},
};

bool matches(const TokenRow &row, const Fault &fault, GrantKind grant)
{
    const bool delegated = grant == GrantKind::Delegated;
    const bool ofGrant = row.grants == Grants::All || (row.grants == Grants::Delegated) == delegated;
    const bool hasWord = row.word.isEmpty() || fault.code == row.word || fault.subtype == row.word
        || fault.description.contains(row.word, Qt::CaseInsensitive);
    return ofGrant && hasWord && (row.status == 0 || row.status == fault.status)
        && (row.error.isEmpty() || row.error == fault.code);
}

Outcome outcomeOf(const TokenRow &row, const Fault &fault)
{
    const QString code = row.code.isEmpty() ? codeOf(fault) : QString(row.code);
    switch (row.meaning) {
    case Meaning::Revoked:
        return Outcome::revoked(code, sentence(fault), row.remedy);
    case Meaning::NeedsReauth:
        return Outcome::account(AccountState::NeedsReauth, code, sentence(fault), row.remedy);
    case Meaning::Parked:
        return Outcome::account(AccountState::Parked, code, sentence(fault), row.remedy);
    case Meaning::Client:
        return Outcome::configuration(FaultScope::Client, code, sentence(fault), row.remedy);
    case Meaning::Domain:
        return Outcome::configuration(FaultScope::Domain, code, sentence(fault), row.remedy);
    }
    Q_UNREACHABLE();
}

constexpr auto askService = "Ask whoever runs the token service."_L1;

/// What the owner's own token service says outright.
std::optional<Outcome> declaredFault(const Fault &fault)
{
    if (fault.errorClass == "revoked"_L1 && fault.status == 400)
        return Outcome::revoked(codeOf(fault), sentence(fault), connectAgain);
    if (fault.errorClass == "configuration"_L1)
        return Outcome::configuration(FaultScope::Client, codeOf(fault), sentence(fault), askService);
    if (fault.errorClass == "account"_L1)
        return Outcome::account(AccountState::Parked, codeOf(fault), sentence(fault), askService);
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
    const auto row = std::find_if(tokenRows.begin(), tokenRows.end(),
                                  [&](const TokenRow &r) { return matches(r, fault, grant); });
    return row == tokenRows.end() ? transientFault(fault) : outcomeOf(*row, fault);
}

} // namespace tidekeeper::core
