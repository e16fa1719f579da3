// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QString>

namespace tidekeeper::limits {

/// The Redis keys of one project of a limiter. They share one hash tag, so that one cluster slot holds them all;
/// accounts and ids stand in them as base64url without padding, never raw.
class Keys {
public:
    Keys(const QString &limiter, const QString &project)
        : m_prefix("tk:{" + limiter.toUtf8() + ':' + project.toUtf8() + "}:")
    { }

    QByteArray policy() const { return m_prefix + "policy"; }
    QByteArray project() const { return m_prefix + "project"; }
    QByteArray account(const QString &account) const { return m_prefix + "account:" + encoded(account); }
    QByteArray id(const QString &account, const QString &id) const
    {
        return m_prefix + "id:" + encoded(account) + ':' + encoded(id);
    }

private:
    static QByteArray encoded(const QString &text)
    {
        return text.toUtf8().toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals);
    }

    QByteArray m_prefix;
};

} // namespace tidekeeper::limits
