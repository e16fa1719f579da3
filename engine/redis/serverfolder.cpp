// SPDX-License-Identifier: Apache-2.0
#include "redis/serverfolder.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QDir>
#include <QtCore/QFile>
#include <QtCore/QFileInfo>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

constexpr qsizetype longestSocketPath = sizeof(sockaddr_un::sun_path) - 1;

bool fitsSocket(const QString &path)
{
    return QFile::encodeName(path).size() <= longestSocketPath;
}

QString socketFor(const QString &folder)
{
    QString inside = folder + u"/redis.sock"_s;
    if (fitsSocket(inside))
        return inside;
    const QByteArray hash =
        QCryptographicHash::hash(folder.toUtf8(), QCryptographicHash::Sha256).toHex().left(12);
    const QString name = u"tidekeeper-%1-%2/redis.sock"_s.arg(::geteuid()).arg(QLatin1String(hash));
    const QString runtime = qEnvironmentVariable("XDG_RUNTIME_DIR");
    if (QDir::isAbsolutePath(runtime) && QFileInfo(runtime).isDir() && fitsSocket(runtime + u'/' + name))
        return runtime + u'/' + name;
    return u"/tmp/"_s + name;
}

/// In a place that others can write to, a folder of that name may be somebody else's, or a link.
bool isOurs(const QByteArray &folder)
{
    struct stat status = {};
    return ::lstat(folder.constData(), &status) == 0 && S_ISDIR(status.st_mode)
        && status.st_uid == ::geteuid();
}

Result<> makePrivate(const QString &path)
{
    const QByteArray name = QFile::encodeName(path);
    QDir().mkpath(QFileInfo(path).path());
    const bool exists = ::mkdir(name.constData(), S_IRWXU) == 0 || errno == EEXIST;
    if (exists && isOurs(name) && ::chmod(name.constData(), S_IRWXU) == 0)
        return {};
    return fail(u"redis_start_failed"_s,
                u"The folder %1 for the private Redis cannot be made, or is not a folder of this user. "
                "Check who owns it, or choose another state folder."_s.arg(path));
}

/// The process that listens on the socket, as the kernel knows it; −1 when nobody does.
qint64 listener(const QString &socketPath)
{
    const QByteArray name = QFile::encodeName(socketPath);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    qstrncpy(address.sun_path, name.constData(), sizeof address.sun_path);
    qint64 processId = -1;
    // EAGAIN: it is there, and too busy or too stopped to take one more.
    if (::connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 || errno == EAGAIN) {
        ucred credentials = {};
        socklen_t size = sizeof credentials;
        const bool isKnown = ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0;
        processId = isKnown ? std::max<qint64>(credentials.pid, 0) : 0;
    }
    ::close(fd);
    return processId;
}

/// The process of the pid file, when it lives and its working directory is the folder, as that of our server.
qint64 processOfPidFile(const ServerFolder &folder)
{
    QFile file(folder.pidFile());
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    const qint64 processId = file.readAll().trimmed().toLongLong();
    const QString workingDirectory = QFile::symLinkTarget(u"/proc/%1/cwd"_s.arg(processId));
    const bool isOurServer =
        processId > 0 && workingDirectory == QFileInfo(folder.path()).canonicalFilePath();
    return isOurServer ? processId : 0;
}

} // namespace

ServerFolder::ServerFolder(const QString &stateDir)
    : m_path(QDir::cleanPath(QDir(stateDir).absoluteFilePath(u"redis"_s))), m_socket(socketFor(m_path))
{ }

Result<> ServerFolder::make() const
{
    if (Result<> made = makePrivate(m_path); !made)
        return made;
    const QString socketFolder = QFileInfo(m_socket).path();
    return socketFolder == m_path ? Result<>() : makePrivate(socketFolder);
}

QString ServerFolder::lastLogLine() const
{
    QFile file(logFile());
    if (!file.open(QIODevice::ReadOnly))
        return {};
    file.seek(std::max<qint64>(0, file.size() - 4096));
    const QList<QByteArray> lines = file.readAll().trimmed().split('\n');
    return QString::fromUtf8(lines.last()).trimmed();
}

LeftBehind LeftBehind::find(const ServerFolder &folder)
{
    const qint64 listening = listener(folder.socket());
    return {listening > 0 ? listening : processOfPidFile(folder), listening >= 0};
}

} // namespace tidekeeper::redis
