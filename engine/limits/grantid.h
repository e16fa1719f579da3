// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QByteArray>

namespace tidekeeper::limits {

// Ids that clients get and hand back. Each holds all that is needed to find what it names, so any engine understands
// it and none has to remember it; a checksum refuses what was mistyped or comes from another limiter.

/// One charge.
struct Grant {
    QString project;
    QString account; ///< normalized
    qint64 cost = 0; ///< units
    qint64 nowUs = 0; ///< server time of the decision; of a degraded grant the engine's own
    bool degraded = false; ///< decided without Redis
    QString id; ///< of the request; empty: none
};

QString grantIdOf(const QString &limiter, const Grant &grant);
/// Failure: invalid_request with the field grant_id.
Result<Grant> grantFrom(const QString &limiter, const QString &grantId);

/// One place of an account.
struct Hold {
    QString project;
    QByteArray accountName; ///< as in Keys
    QString place;
};

QString holdIdOf(const QString &limiter, const Hold &hold);
/// Failure: invalid_request with the field hold.
Result<Hold> holdFrom(const QString &limiter, const QString &holdId);

} // namespace tidekeeper::limits
