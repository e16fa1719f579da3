// SPDX-License-Identifier: Apache-2.0
#include "oauth/accesstokens.h"

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
                           const Clock &clock, SharedTokens *shared)
    : m_endpoint(endpoint), m_grants(grants), m_clients(std::move(clients)), m_clock(clock), m_shared(shared),
      m_pace(clock), m_rotated(grants), m_kept(mostKept)
{ }

QCoro::Task<TokenResult> AccessTokens::forAccount(core::Account account, QString rejected)
{
    Wanted wanted{keyOf(account), std::move(rejected), {}, true, [this, account] { return fetch(account); }};
    return get(std::move(wanted));
}

QCoro::Task<TokenResult> AccessTokens::forServiceAccount(QString keyFile, QString scope)
{
    const Result<ServiceAccountKey> key = loadServiceAccountKey(keyFile);
    Wanted wanted;
    wanted.key = u"service account\n"_s + keyFile + u'\n' + scope;
    wanted.projectId = key ? key->projectId : QString();
    wanted.fetch = [this, keyFile, scope] { return fetchAssertion(keyFile, scope, {}); };
    return get(std::move(wanted));
}

QCoro::Task<TokenResult> AccessTokens::get(Wanted wanted)
{
    const QString key = wanted.key;
    const Kept *kept = m_kept.object(key);
    if (kept && kept->token.token != wanted.rejected && m_clock.monotonicMs() < kept->usableUntilMs) {
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
    const TokenResult result = co_await obtain(std::move(wanted));
    m_inFlight.remove(key);
    promise.addResult(result);
    promise.finish();
    co_return result;
}

/// From whichever engine asked last, or asked for now and left for the others.
QCoro::Task<TokenResult> AccessTokens::obtain(Wanted wanted)
{
    SharedTokens *shared = wanted.isShared ? m_shared : nullptr;
    const QString name = SharedTokens::nameOf(wanted.key);
    SharedTokens::Turn turn;
    if (shared)
        turn = co_await shared->turn(name, wanted.rejected);
    if (turn.timedOut)
        co_return tl::unexpected(core::Outcome::transient(
            u"token_busy"_s, u"Another engine has been asking for this account's token for too long."_s));
    if (turn.token) {
        AccessToken token = keep(wanted, *turn.token);
        token.kept = true;
        co_return token;
    }
    const GrantResult grant = co_await wanted.fetch();
    if (!grant)
        co_return tl::unexpected(grant.error());
    const qint64 lifeMs = grant->expiresInS * 1000;
    const qint64 nowMs = m_clock.nowMs();
    const SharedToken fresh{grant->accessToken, nowMs + lifeMs, nowMs + lifeMs / 10 * 9};
    if (shared)
        shared->leave(name, fresh, lifeMs / 10 * 9);
    co_return keep(wanted, fresh);
}

AccessToken AccessTokens::keep(const Wanted &wanted, const SharedToken &token)
{
    const AccessToken kept{token.token, token.expiresAt, wanted.projectId};
    const qint64 usableMs = token.usableUntil - m_clock.nowMs();
    m_kept.insert(wanted.key, new Kept{kept, m_clock.monotonicMs() + usableMs});
    return kept;
}

QCoro::Task<GrantResult> AccessTokens::fetch(core::Account account)
{
    switch (account.grantKind) {
    case core::GrantKind::Stored:
        return fetchStored(std::move(account));
    case core::GrantKind::Http: {
        const QString url = account.grant.value("token_url"_L1).toString();
        return m_pace.ask(u"service\n"_s + url, [this, url, account] {
            return m_endpoint.ask(QUrl(url), account.id, account.email, account.project);
        });
    }
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
    Result<QString> stored = co_await m_grants.refreshToken(account.id);
    if (!stored)
        co_return tl::unexpected(grantFault(stored.error()));
    QString token = m_rotated.newest(account.id, *stored);

    const QString lane = u"client\n"_s + account.project + u'\n' + account.client;
    GrantResult answer = co_await refresh(lane, *client, token);
    if (!answer && answer.error().kind == core::OutcomeKind::Revoked) {
        // Someone may have stored a newer token while the old one was being refused: that one decides. When that
        // cannot be told, nothing is decided.
        stored = co_await m_grants.refreshToken(account.id);
        if (!stored && stored.error().code != "not_found"_L1)
            co_return tl::unexpected(grantFault(stored.error()));
        const QString newer = stored ? m_rotated.newest(account.id, *stored) : token;
        if (newer != token) {
            token = newer;
            answer = co_await refresh(lane, *client, token);
        }
    }
    if (answer && !answer->refreshToken.isEmpty() && answer->refreshToken != token)
        co_await m_rotated.save(account.id, token, answer->refreshToken);
    co_return answer;
}

QCoro::Task<GrantResult> AccessTokens::refresh(QString lane, ClientSecret client, QString refreshToken)
{
    return m_pace.ask(std::move(lane),
                      [this, client, refreshToken] { return m_endpoint.refresh(client, refreshToken); });
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
    const QString lane = u"service account\n"_s + keyFile;
    TokenPace::Ask exchange = [this, text = *assertion] { return m_endpoint.exchangeAssertion(text); };
    GrantResult answer = co_await m_pace.ask(lane, std::move(exchange));
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
