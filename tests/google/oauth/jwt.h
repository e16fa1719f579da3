// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/oauth/rsakey.h"

#include <QtCore/QJsonObject>

namespace tidekeeper::googlesim {

/// A JSON web token in its compact form, taken apart but not trusted.
struct Jwt {
    QJsonObject header;
    QJsonObject claims;
    QByteArray signedText; ///< "<header>.<claims>", what the signature covers
    QByteArray signature;

    static std::optional<Jwt>
    parse(const QByteArray &compact); ///< nothing unless three base64url parts, two of JSON
    /// keyId: the header's "kid", which a service account may leave out.
    static QByteArray make(const QJsonObject &claims, const RsaKey &key, const QString &keyId = {});
};

} // namespace tidekeeper::googlesim
