// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QTemporaryDir>

namespace tidekeeper::test {

/// A certificate authority and a server certificate for one name, made by openssl in a temporary folder.
class TlsFiles {
public:
    /// alternativeName: "DNS:localhost" or "IP:127.0.0.1".
    explicit TlsFiles(const QString &alternativeName);

    bool areThere() const { return m_areThere; }
    QString authority() const { return m_folder.filePath(QStringLiteral("ca.pem")); }
    QString certificate() const { return m_folder.filePath(QStringLiteral("server.pem")); }
    QString key() const { return m_folder.filePath(QStringLiteral("server.key")); }

private:
    bool openssl(const QStringList &arguments) const;

    QTemporaryDir m_folder;
    bool m_areThere = false;
};

} // namespace tidekeeper::test
