// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QCoro/QCoroTask>
#include <QtCore/QString>

namespace tidekeeper::oauth {

/// Where refresh tokens come from and where rotated ones go.
class GrantSource {
public:
    virtual ~GrantSource() = default;

    /// The account's refresh token in the clear. Failures: not_found (it has none), grant_unreadable (it cannot be
    /// decrypted: a fault of ours, never to be sent or held against the account), database_unavailable.
    virtual QCoro::Task<Result<QString>> refreshToken(QString accountId) = 0;

    /// Replaces the token by the one that the server rotated it to, unless someone stored another meanwhile.
    virtual QCoro::Task<Result<>> rotate(QString accountId, QString from, QString to) = 0;
};

} // namespace tidekeeper::oauth
