// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/outcome.h"

#include <QtCore/QByteArray>

#include <optional>

namespace tidekeeper::core {

/// What a token endpoint answered, or that it did not.
struct TokenAnswer {
    int status = 0; ///< HTTP status; 0 = no answer
    QByteArray body;
    QString transportCode; ///< "timeout" or "network" when there was no answer
    QString transportText;
};

struct TokenGrant {
    QString accessToken;
    qint64 expiresInS = 0;
    QString refreshToken; ///< a rotated one, to be saved; empty = keep the old
};

/// The token of a 2xx answer with "access_token" and "expires_in" (a number, or a number in a string).
std::optional<TokenGrant> tokenGrantFrom(const TokenAnswer &answer);

/// What an answer without a token means: transient, revoked, configuration or account. Only a real HTTP 400 with the
/// JSON code invalid_grant is ever revoked; any 5xx is transient whatever its body says; what is unknown is
/// transient. A token service of the owner's own may say it outright: "error_class": "revoked" (400 only),
/// "configuration", "account" or "transient".
Outcome tokenFailure(const TokenAnswer &answer, GrantKind grant);

} // namespace tidekeeper::core
