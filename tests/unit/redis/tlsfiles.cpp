// SPDX-License-Identifier: Apache-2.0
#include "tlsfiles.h"

#include <QtCore/QFile>
#include <QtCore/QProcess>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

TlsFiles::TlsFiles(const QString &alternativeName)
{
    const QString authorityKey = m_folder.filePath(u"ca.key"_s);
    const QString request = m_folder.filePath(u"server.csr"_s);
    QFile extensions(m_folder.filePath(u"extensions"_s));
    m_areThere = extensions.open(QIODevice::WriteOnly)
        && extensions.write("subjectAltName=" + alternativeName.toLatin1() + "\n") > 0;
    extensions.close();

    m_areThere = m_areThere
        && openssl({u"req"_s, u"-x509"_s, u"-newkey"_s, u"rsa:2048"_s, u"-nodes"_s, u"-days"_s, u"2"_s,
                    u"-subj"_s, u"/CN=Test authority"_s, u"-keyout"_s, authorityKey, u"-out"_s, authority()})
        && openssl({u"req"_s, u"-newkey"_s, u"rsa:2048"_s, u"-nodes"_s, u"-subj"_s, u"/CN=Test server"_s,
                    u"-keyout"_s, key(), u"-out"_s, request})
        && openssl({u"x509"_s, u"-req"_s, u"-in"_s, request, u"-CA"_s, authority(), u"-CAkey"_s, authorityKey,
                    u"-CAcreateserial"_s, u"-days"_s, u"2"_s, u"-extfile"_s, extensions.fileName(), u"-out"_s,
                    certificate()});
}

bool TlsFiles::openssl(const QStringList &arguments) const
{
    QProcess process;
    process.start(u"openssl"_s, arguments);
    return process.waitForFinished() && process.exitStatus() == QProcess::NormalExit
        && process.exitCode() == 0;
}

} // namespace tidekeeper::test
