// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/accountnames.h"

namespace tidekeeper::limits {

/// The Redis keys of one project of a limiter. They share one hash tag, so that one cluster slot holds them all;
/// accounts stand in them by their names (AccountNames), ids as base64url without padding, never raw.
class Keys {
public:
    Keys(const QString &limiter, const QString &project, AccountNames names = {})
        : m_prefix("tk:{" + limiter.toUtf8() + ':' + project.toUtf8() + "}:"), m_names(std::move(names))
    { }

    QByteArray policy() const { return m_prefix + "policy"; }
    QByteArray project() const { return m_prefix + "project"; }
    QByteArray account(const QString &account) const { return m_prefix + "account:" + accountName(account); }
    QByteArray id(const QString &account, const QString &id) const
    {
        return m_prefix + "id:" + accountName(account) + ':' + encoded(id);
    }
    /// That the grant of this server time was given back. No id's key begins so: base64url has no dot.
    QByteArray refund(const QString &account, qint64 grantUs) const
    {
        return m_prefix + "id:" + accountName(account) + ":." + QByteArray::number(grantUs);
    }
    /// The places of an account, by its name in keys.
    QByteArray places(const QByteArray &accountName) const { return m_prefix + "slots:" + accountName; }
    // The list of levels: see activeaccounts.h, levelindex.h and levelsweep.h.
    QByteArray active() const { return m_prefix + "active"; }
    QByteArray engines() const { return m_prefix + "engines"; }
    QByteArray uses(const QByteArray &engine, qint64 slot) const
    {
        return m_prefix + "uses:" + engine + ':' + QByteArray::number(slot);
    }
    QByteArray sweepCursor() const { return m_prefix + "sweep"; }
    QByteArray sweepTurn() const { return m_prefix + "sweep:turn"; }
    QByteArray anyAccount() const { return m_prefix + "account:"; } ///< how all keys of accounts begin

    /// How the account stands in keys.
    QByteArray accountName(const QString &account) const { return m_names.nameOf(account); }
    const AccountNames &accountNames() const { return m_names; }

private:
    static QByteArray encoded(const QString &text)
    {
        return text.toUtf8().toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals);
    }

    QByteArray m_prefix;
    AccountNames m_names;
};

} // namespace tidekeeper::limits
