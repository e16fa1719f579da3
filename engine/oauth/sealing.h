// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QCoro/QCoroTask>
#include <QtCore/QByteArray>
#include <QtCore/QString>

#include <array>
#include <memory>

namespace tidekeeper::store {
class SettingsStore;
}

namespace tidekeeper::oauth {

/// Seals refresh tokens with AES-256-GCM. The id of the account is bound to what is sealed: moved to another row it
/// does not open. Holds the key in memory and clears it at its end. Any thread may seal and open.
class Sealing {
public:
    static constexpr int keyBytes = 32;

    /// The key of this engine: read from keyFile (64 hexadecimal digits, mode 0600), made there at the first start.
    /// What was sealed in this database before must have been sealed with it. Failures: sealing_key_mismatch,
    /// sealing_key_missing (lost), sealing_change_unfinished (see KeyChange), sealing_key_invalid, sealing_key_exposed (others may read the file),
    /// sealing_key_unwritable, database_unavailable; each with its remedy.
    static QCoro::Task<Result<std::shared_ptr<const Sealing>>>
    open(QString keyFile, store::SettingsStore &settings, qint64 nowMs);

    /// From key material of exactly keyBytes; the caller's copy is its own to clear.
    explicit Sealing(const QByteArray &key);
    ~Sealing();
    Sealing(const Sealing &) = delete;
    Sealing &operator=(const Sealing &) = delete;

    QString keyId() const { return m_fingerprint.left(16); } ///< stored beside everything that is sealed
    QString fingerprint() const { return m_fingerprint; } ///< SHA-256 of the key, hexadecimal

    /// version (1 byte) | nonce (12) | ciphertext | tag (16). Failure: sealing_failed.
    Result<QByteArray> seal(const QByteArray &plain, const QString &accountId) const;

    /// Failures, all faults of this side and never Google's word: sealing_key_unknown (sealed with another key),
    /// sealed_value_damaged.
    Result<QByteArray> unseal(const QByteArray &sealed, const QString &keyId, const QString &accountId) const;

    /// A keyed hash: equal for equal values under one key, tells nothing without it.
    QString valueFingerprint(const QByteArray &value) const;

private:
    std::array<unsigned char, keyBytes> m_key;
    QString m_fingerprint;
};

/// Overwrites a secret that is no longer needed. The array must not be shared.
void cleanse(QByteArray &secret);

} // namespace tidekeeper::oauth
