// SPDX-License-Identifier: Apache-2.0
#include "oauth/tokenservice.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

void finish(Reply *reply, const TokenResult &token)
{
    if (!token) {
        const QString errorClass = toString(token.error().kind);
        reply->finish(Status::failure(errorClass, token.error().text,
                                      {{u"class"_s, errorClass}, {u"code"_s, token.error().code}}),
                      {});
        return;
    }
    QJsonObject result{{u"access_token"_s, token->token}, {u"expires_at"_s, token->expiresAt}};
    if (!token->projectId.isEmpty())
        result.insert(u"project_id"_s, token->projectId);
    reply->finish(Status::success(), result);
}

QCoro::Task<> answerForAccount(AccessTokens &tokens, TokenService::FindAccount find, QString accountId,
                               Reply *reply)
{
    const Result<core::Account> account = co_await find(accountId);
    if (!account) {
        reply->finish(account.error(), {});
        co_return;
    }
    const TokenResult token = co_await tokens.forAccount(*account);
    finish(reply, token);
}

QCoro::Task<> answerForServiceAccount(AccessTokens &tokens, QString keyFile, QString scope, Reply *reply)
{
    const TokenResult token = co_await tokens.forServiceAccount(keyFile, scope);
    finish(reply, token);
}

} // namespace

TokenService::TokenService(AccessTokens &tokens, FindAccount find, QObject *parent)
    : QObject(parent), m_tokens(tokens), m_find(std::move(find))
{ }

void TokenService::forAccount(const QString &accountId, Reply *reply)
{
    answerForAccount(m_tokens, m_find, accountId, reply);
}

void TokenService::forServiceAccount(const QString &keyFile, const QString &scope, Reply *reply)
{
    answerForServiceAccount(m_tokens, keyFile, scope, reply);
}

} // namespace tidekeeper::oauth
