// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/oauth/rsakey.h"
#include "google/world/settings.h"

namespace tidekeeper::googlesim {

/// The key that Google signs the tokens of authenticated pushes with; made when somebody first needs it.
class PushSigner {
public:
    /// For the audience and service account of the settings. Handed out again for 55 of its 60 minutes, as Google does.
    QByteArray token(const Settings &settings, qint64 nowMs);
    QJsonObject jwks(); ///< {"keys": [...]}

private:
    const RsaKey &key();
    QString keyId();

    std::optional<RsaKey> m_key;
    QByteArray m_token;
    QJsonObject m_claims; ///< of m_token
};

} // namespace tidekeeper::googlesim
