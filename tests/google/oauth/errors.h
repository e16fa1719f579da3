// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/call.h"

/// The token endpoint's error bodies: {"error", "error_description"[, "error_subtype"]}.
namespace tidekeeper::googlesim::errors {

Answer token(int status, const QString &error, const QString &description = {}, const QString &subtype = {});

inline Answer revokedGrant()
{
    return token(400, QStringLiteral("invalid_grant"), QStringLiteral("Token has been expired or revoked."));
}
inline Answer wrongClientSecret()
{
    return token(401, QStringLiteral("invalid_client"),
                 QStringLiteral("The provided client secret is invalid."));
}
inline Answer unknownClient()
{
    return token(401, QStringLiteral("invalid_client"), QStringLiteral("The OAuth client was not found."));
}
inline Answer notDelegated()
{
    return token(
        401, QStringLiteral("unauthorized_client"),
        QStringLiteral("Client is unauthorized to retrieve access tokens using this method, or client not "
                       "authorized for any of the scopes requested."));
}

} // namespace tidekeeper::googlesim::errors
