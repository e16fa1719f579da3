// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/accesstokens.h"

#include <functional>

namespace tidekeeper::oauth {

/// Tokens for plugins, on AccessTokens. A failure's code is the outcome's class, its details hold "class" and the
/// other side's own "code". Main thread.
class TokenService : public QObject, public Tokens {
    Q_OBJECT
    Q_INTERFACES(tidekeeper::Tokens)

public:
    using FindAccount = std::function<QCoro::Task<Result<core::Account>>(QString id)>;

    TokenService(AccessTokens &tokens, FindAccount find, QObject *parent = nullptr);

    void forAccount(const QString &accountId, Reply *reply) override;
    void forServiceAccount(const QString &keyFile, const QString &scope, Reply *reply) override;

private:
    AccessTokens &m_tokens;
    FindAccount m_find;
};

} // namespace tidekeeper::oauth
