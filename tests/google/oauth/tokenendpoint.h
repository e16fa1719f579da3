// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/call.h"
#include "google/faults/faults.h"
#include "google/world/world.h"

namespace tidekeeper::googlesim {

/// POST /token: refresh tokens and service accounts' JWTs for access tokens. POST /revoke: an end to a grant.
class TokenEndpoint {
public:
    TokenEndpoint(World &world, Faults &faults) : m_world(world), m_faults(faults) { }

    Answer token(const Call &call);
    Answer revoke(const Call &call);

    /// Audience that is accepted beside Google's own: where this simulator listens.
    void setOwnUrl(const QString &url) { m_ownUrl = url; }

private:
    Answer refresh(const QUrlQuery &form);
    Answer refreshGranted(const QUrlQuery &form);
    Answer jwtBearer(const QUrlQuery &form);
    Answer jwtGranted(const QByteArray &assertion);

    World &m_world;
    Faults &m_faults;
    QString m_ownUrl;
};

} // namespace tidekeeper::googlesim
