// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

#include <QtCore/QList>

#include <optional>

namespace tidekeeper::store {

struct Device {
    QString id; ///< made here; tells nothing of the token
    QString platform; ///< as the caller named it; may be empty
    QString language; ///< empty = that of the account
    qint64 lastSeenAt = 0; ///< epoch ms
    QByteArray sealedToken;
    QString keyId;
};

/// What a registration carries; a platform or language that is left out keeps its value.
struct DeviceChange {
    QByteArray sealedToken; ///< already sealed; the store never sees the plain text
    QString keyId;
    QString
        fingerprint; ///< keyed hash of account and token: one app may serve several accounts with one token
    std::optional<QString> platform;
    std::optional<QString> language;
};

/// The devices that an account's notices go to. Push tokens are secrets and lie here sealed, as refresh tokens do.
/// Gone with their account. Any thread may call. Failures: not_found, conflict, database_unavailable.
class DeviceStore {
public:
    explicit DeviceStore(Database &database);

    /// The one seen last first.
    QCoro::Task<Result<QList<Device>>> list(QString account);

    /// Adds a device or, when its fingerprint is known, marks it as seen; true when it is new. conflict for an account
    /// that is leaving.
    QCoro::Task<Result<bool>> put(QString account, DeviceChange change, qint64 nowMs);

    QCoro::Task<Result<>> remove(QString account, QString deviceId);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
