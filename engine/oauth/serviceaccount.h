// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QByteArray>
#include <QtCore/QString>

namespace tidekeeper::oauth {

/// A service account's key file, as the Google Cloud console hands it out.
struct ServiceAccountKey {
    QString email; ///< client_email
    QString keyId; ///< private_key_id, may be empty
    QString projectId; ///< may be empty
    QByteArray privateKeyPem;
};

/// Failures: service_account_key, naming the file and what is wrong with it, never its content.
Result<ServiceAccountKey> loadServiceAccountKey(const QString &file);

/// The assertion of the JWT-bearer grant, signed with RS256: valid for an hour from a few seconds ago, so that a clock
/// slightly ahead of Google's does no harm. subject: the user to act for (domain-wide delegation), may be empty.
/// Failures: service_account_key.
Result<QByteArray> signedAssertion(const ServiceAccountKey &key, const QString &scope, const QString &subject,
                                   qint64 nowMs);

} // namespace tidekeeper::oauth
