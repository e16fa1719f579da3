// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QByteArray>
#include <QtCore/QJsonObject>
#include <QtCore/QStringList>

namespace tidekeeper::limits {

/// How accounts are named in Redis: by base64url, which hides an address from the eye only, or by an HMAC-SHA256 in
/// base64url, which tells nothing to whoever has not got the key. Both without padding.
class AccountNames {
public:
    AccountNames() = default; ///< base64url

    /// From "account_key" and "account_key_file" of what Buckets::publish takes; reads the file. Failure:
    /// invalid_policy with the field.
    static Result<AccountNames> from(const QJsonObject &policy);

    /// Of a normalized address.
    QByteArray nameOf(const QString &account) const;
    /// The address, empty when the name does not tell it.
    QString accountOf(const QByteArray &name) const;
    bool tellAddresses() const { return m_key.isEmpty(); }

    /// What is allowed but not wise, one sentence each.
    const QStringList &warnings() const { return m_warnings; }

private:
    QByteArray m_key; ///< empty: base64url
    QStringList m_warnings;
};

} // namespace tidekeeper::limits
