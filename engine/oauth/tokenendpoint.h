// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/oautherror.h"
#include "net/httpclient.h"

#include <tl/expected.hpp>

namespace tidekeeper::oauth {

/// A token, or what its absence means for the account (see core/oautherror.h).
using GrantResult = tl::expected<core::TokenGrant, core::Outcome>;

struct ClientSecret {
    QString clientId;
    QString clientSecret;
};

/// The three ways to ask for an access token; one request each, no retry. Main thread.
class TokenEndpoint {
public:
    static constexpr int deadlineMs = 10'000; ///< of a request with its whole answer

    /// oauthUrl: the base to which /token is appended.
    TokenEndpoint(net::HttpClient &http, const QString &oauthUrl, int requestDeadlineMs = deadlineMs);

    QCoro::Task<GrantResult> refresh(ClientSecret client, QString refreshToken);
    QCoro::Task<GrantResult> exchangeAssertion(QByteArray assertion);
    /// The owner's own token service: POST {"account", "email", "project"}.
    QCoro::Task<GrantResult> ask(QUrl service, QString accountId, QString email, QString project);

private:
    QCoro::Task<GrantResult> post(QUrl url, QByteArray contentType, QByteArray body, core::GrantKind kind);

    net::HttpClient &m_http;
    QUrl m_tokenUrl;
    int m_deadlineMs;
};

} // namespace tidekeeper::oauth
