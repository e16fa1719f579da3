// SPDX-License-Identifier: Apache-2.0
#include "oauth/accesstokens.h"

#include "log/log.h"
#include "oauth/serviceaccount.h"

#include <QCoro/QCoroFuture>
#include <QtCore/QFile>
#include <QtCore/QPromise>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

/// A watch is renewed once a day and a token lives an hour: keeping every account's would only cost memory.
constexpr int mostKept = 2'000;
constexpr qint64 largestSecretFile = 4 * 1024;
constexpr auto defaultScope = "https://www.googleapis.com/auth/gmail.readonly"_L1;

core::Outcome clientFault(const QString &code, const QString &text, const QString &remedy)
{
    return core::Outcome::configuration(core::FaultScope::Client, code, text, remedy);
}

core::Outcome grantFault(const Error &error)
{
    if (error.code == "not_found"_L1)
        return core::Outcome::account(core::AccountState::NeedsReauth, u"no_grant"_s,
                                      u"The account has no refresh token: let its user consent again."_s);
    if (error.code == "grant_unreadable"_L1)
        return core::Outcome::local(error.code, error.text);
    return core::Outcome::transient(error.code, error.text);
}

QCoro::Task<GrantResult> refused(core::Outcome outcome)
{
    co_return tl::unexpected(std::move(outcome));
}

/// Everything that decides which token is right, so that a changed account never gets its old mailbox's token.
QString keyOf(const core::Account &account)
{
    return QStringList{account.id,
                       account.email,
                       account.project,
                       account.client,
                       toString(account.grantKind),
                       QString::number(account.generation)}
        .join(u'\n');
}

} // namespace

AccessTokens::AccessTokens(TokenEndpoint &endpoint, GrantSource &grants, ClientDirectory clients,
                           const Clock &clock)
    : m_endpoint(endpoint), m_grants(grants), m_clients(std::move(clients)), m_clock(clock), m_kept(mostKept)
{ }

QCoro::Task<TokenResult> AccessTokens::forAccount(core::Account account, QString rejected)
{
    const QString key = keyOf(account);
    return get(key, std::move(rejected), {}, [this, account] { return fetch(account); });
}

QCoro::Task<TokenResult> AccessTokens::forServiceAccount(QString keyFile, QString scope)
{
    const Result<ServiceAccountKey> key = loadServiceAccountKey(keyFile);
    const QString projectId = key ? key->projectId : QString();
    return get(u"service account\n"_s + keyFile + u'\n' + scope, {}, projectId,
               [this, keyFile, scope] { return fetchAssertion(keyFile, scope, {}); });
}

QCoro::Task<TokenResult> AccessTokens::get(QString key, QString rejected, QString projectId, Fetch fetch)
{
    const Kept *kept = m_kept.object(key);
    if (kept && kept->token.token != rejected && m_clock.monotonicMs() < kept->usableUntilMs) {
        AccessToken token = kept->token;
        token.kept = true;
        co_return token;
    }
    if (m_inFlight.contains(key)) {
        const QFuture<TokenResult> shared = m_inFlight.value(key);
        co_return co_await shared;
    }

    QPromise<TokenResult> promise;
    promise.start();
    m_inFlight.insert(key, promise.future());
    const GrantResult grant = co_await fetch();
    TokenResult result = tl::unexpected(grant ? core::Outcome() : grant.error());
    if (grant) {
        const qint64 lifeMs = grant->expiresInS * 1000;
        result = AccessToken{grant->accessToken, m_clock.nowMs() + lifeMs, projectId};
        m_kept.insert(key, new Kept{*result, m_clock.monotonicMs() + lifeMs / 10 * 9});
    }
    m_inFlight.remove(key);
    promise.addResult(result);
    promise.finish();
    co_return result;
}

QCoro::Task<GrantResult> AccessTokens::fetch(core::Account account)
{
    switch (account.grantKind) {
    case core::GrantKind::Stored:
        return fetchStored(std::move(account));
    case core::GrantKind::Http:
        return m_endpoint.ask(QUrl(account.grant.value("token_url"_L1).toString()), account.id, account.email,
                              account.project);
    case core::GrantKind::Delegated:
        return fetchAssertion(account.grant.value("key_file"_L1).toString(),
                              account.grant.value("scope"_L1).toString(defaultScope),
                              account.grant.value("sub"_L1).toString(account.email));
    case core::GrantKind::None:
        break;
    }
    return refused(grantFault({u"not_found"_s, {}, {}}));
}

QCoro::Task<GrantResult> AccessTokens::fetchStored(core::Account account)
{
    const tl::expected<ClientSecret, core::Outcome> client = credentials(account);
    if (!client)
        co_return tl::unexpected(client.error());
    Result<QString> token = co_await m_grants.refreshToken(account.id);
    if (!token)
        co_return tl::unexpected(grantFault(token.error()));

    GrantResult answer = co_await m_endpoint.refresh(*client, *token);
    if (!answer && answer.error().kind == core::OutcomeKind::Revoked) {
        // Someone may have stored a newer token while the old one was being refused: that one decides.
        const Result<QString> newer = co_await m_grants.refreshToken(account.id);
        if (newer && *newer != *token) {
            token = newer;
            answer = co_await m_endpoint.refresh(*client, *token);
        }
    }
    if (answer && !answer->refreshToken.isEmpty() && answer->refreshToken != *token) {
        const Result<> saved = co_await m_grants.rotate(account.id, *token, answer->refreshToken);
        if (!saved)
            log::error(u"oauth"_s, u"A rotated refresh token could not be saved: "_s + saved.error().text,
                       {{u"account"_s, account.id}});
    }
    co_return answer;
}

QCoro::Task<GrantResult> AccessTokens::fetchAssertion(QString keyFile, QString scope, QString subject)
{
    const Result<ServiceAccountKey> key = loadServiceAccountKey(keyFile);
    const Result<QByteArray> assertion =
        key ? signedAssertion(*key, scope, subject, m_clock.nowMs()) : Result<QByteArray>(fail(key.error()));
    if (!assertion)
        co_return tl::unexpected(
            clientFault(assertion.error().code, assertion.error().text,
                        u"Put the service account's JSON key file in its place, readable by "
                        "the engine."_s));
    GrantResult answer = co_await m_endpoint.exchangeAssertion(*assertion);
    co_return answer;
}

tl::expected<ClientSecret, core::Outcome> AccessTokens::credentials(const core::Account &account) const
{
    const auto fault = [](const QString &code, const QString &text, const QString &remedy) {
        return tl::unexpected(clientFault(code, text, remedy));
    };
    const QMap<QString, ClientCredentials> clients = m_clients.value(account.project);
    if (!clients.contains(account.client))
        return fault(
            u"unknown_client"_s,
            u"The configuration has no client %1 in project %2."_s.arg(account.client, account.project),
            u"Add [google.projects.%1.clients.%2] with client_id and client_secret_file."_s.arg(
                account.project, account.client));
    const ClientCredentials credentials = clients.value(account.client);
    QFile file(credentials.clientSecretFile);
    if (!file.open(QIODevice::ReadOnly))
        return fault(
            u"client_secret_unreadable"_s,
            u"The client secret file %1 cannot be read: %2."_s.arg(file.fileName(), file.errorString()),
            u"Make client_secret_file readable for the engine."_s);
    const QString secret = QString::fromUtf8(file.read(largestSecretFile)).trimmed();
    if (credentials.clientId.isEmpty() || secret.isEmpty())
        return fault(u"client_secret_empty"_s,
                     u"client_id or the content of %1 is empty."_s.arg(file.fileName()),
                     u"Fill in client_id and the client secret."_s);
    return ClientSecret{credentials.clientId, secret};
}

} // namespace tidekeeper::oauth
