// SPDX-License-Identifier: Apache-2.0
#include "http/auth.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QFile>
#include <QtCore/QRandomGenerator>

#include <openssl/crypto.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

constexpr qsizetype shortestToken = 32;

QByteArray hashOf(const QByteArray &token)
{
    return QCryptographicHash::hash(token, QCryptographicHash::Sha256);
}

QByteArray randomToken()
{
    std::array<quint32, 8> words;
    QRandomGenerator::system()->fillRange(words.data(), words.size());
    return QByteArray(reinterpret_cast<const char *>(words.data()), sizeof words)
        .toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals);
}

tl::unexpected<Error> failure(const QString &path, const QString &what)
{
    return fail(u"admin_token"_s, u"The admin token %1 %2"_s.arg(path, what), {{u"file"_s, path}});
}

Result<QByteArray> readToken(const QString &path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return failure(path, u"cannot be read: %1."_s.arg(file.errorString()));
    const QByteArray token = file.read(4096).trimmed();
    if (token.size() < shortestToken) {
        return failure(
            path,
            u"is shorter than %1 characters. Delete the file and start again to get a new one."_s.arg(
                shortestToken));
    }
    // A copy or a restore may have opened it to others.
    file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);
    return token;
}

bool writeAll(int fd, const QByteArray &data)
{
    return ::write(fd, data.constData(), size_t(data.size())) == data.size() && ::fsync(fd) == 0;
}

} // namespace

void TokenAuthority::add(const QString &name, Role role, const QByteArray &token)
{
    m_entries.append({{name, role}, hashOf(token)});
}

Principal TokenAuthority::authenticate(const QByteArray &bearerToken) const
{
    const QByteArray hash = hashOf(bearerToken);
    Principal found;
    for (const Entry &entry : m_entries) {
        if (CRYPTO_memcmp(entry.hash.constData(), hash.constData(), size_t(hash.size())) == 0)
            found = entry.principal;
    }
    return found;
}

Result<QByteArray> adminToken(const QString &stateDir)
{
    const QString path = stateDir + u"/admin.token"_s;
    if (QFile::exists(path))
        return readToken(path);

    // Written beside and linked into place: whoever sees the name sees the whole token.
    const QByteArray target = QFile::encodeName(path);
    const QByteArray draft = target + ".new";
    ::unlink(draft.constData());
    const int fd = ::open(draft.constData(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    bool written = fd >= 0 && writeAll(fd, randomToken() + '\n');
    if (fd >= 0)
        written = ::close(fd) == 0 && written;
    written = written && (::link(draft.constData(), target.constData()) == 0 || errno == EEXIST);
    const int error = errno;
    ::unlink(draft.constData());
    if (!written)
        return failure(path, u"cannot be written: %1."_s.arg(QString::fromLocal8Bit(std::strerror(error))));
    return readToken(path);
}

} // namespace tidekeeper::http
