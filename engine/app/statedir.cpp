// SPDX-License-Identifier: Apache-2.0
#include "app/statedir.h"

#include <QtCore/QDir>
#include <QtCore/QFile>
#include <QtCore/QSaveFile>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

tl::unexpected<Error> unwritable(const QString &path, const QString &why)
{
    return fail(u"state_dir_unwritable"_s,
                u"The state folder \"%1\" cannot be used: %2. Give a folder that this user may write with "
                u"--state-dir."_s.arg(path, why));
}

QString systemError()
{
    return QString::fromLocal8Bit(std::strerror(errno));
}

} // namespace

QString StateDir::defaultPath()
{
    for (const char *name : {"TIDEKEEPER_STATE_DIR", "STATE_DIRECTORY"}) {
        if (const QString path = qEnvironmentVariable(name); !path.isEmpty())
            return path;
    }
    const QString base = qEnvironmentVariable("XDG_STATE_HOME", QDir::homePath() + u"/.local/state"_s);
    return base + u"/tidekeeper"_s;
}

Result<StateDir> StateDir::open(const QString &path)
{
    const QString absolute = QDir(path).absolutePath();
    const QByteArray native = QFile::encodeName(absolute);
    if (!QDir().mkpath(absolute))
        return unwritable(absolute, systemError());
    if (::chmod(native.constData(), S_IRWXU) != 0 || ::access(native.constData(), W_OK | X_OK) != 0)
        return unwritable(absolute, systemError());

    const QByteArray lockFile = native + "/lock";
    const int fd = ::open(lockFile.constData(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return unwritable(absolute, systemError());
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        char holder[32] = {};
        const ssize_t length = ::read(fd, holder, sizeof holder - 1);
        ::close(fd);
        return fail(
            u"state_dir_locked"_s,
            u"The state folder \"%1\" is in use by another engine (process %2). Stop that one first, or give "
            u"this one a folder of its own with --state-dir."_s.arg(
                absolute, length > 0 ? QString::fromLatin1(holder).trimmed() : u"unknown"_s));
    }
    const QByteArray pid = QByteArray::number(qint64(::getpid())) + '\n';
    if (::ftruncate(fd, 0) != 0 || ::write(fd, pid.constData(), size_t(pid.size())) != pid.size()) {
        const QString why = systemError();
        ::close(fd);
        return unwritable(absolute, why);
    }
    return StateDir(absolute, fd);
}

StateDir::StateDir(StateDir &&other) noexcept
    : m_path(std::move(other.m_path)), m_lockFd(std::exchange(other.m_lockFd, -1))
{ }

StateDir &StateDir::operator=(StateDir &&other) noexcept
{
    std::swap(m_path, other.m_path);
    std::swap(m_lockFd, other.m_lockFd);
    return *this;
}

StateDir::~StateDir()
{
    if (m_lockFd >= 0)
        ::close(m_lockFd);
}

QString StateDir::file(const QString &name) const
{
    return m_path + u'/' + name;
}

Result<> StateDir::writeFile(const QString &name, const QByteArray &text) const
{
    QSaveFile output(file(name));
    if (!output.open(QIODevice::WriteOnly)
        || !output.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner)
        || output.write(text) != text.size() || !output.commit())
        return unwritable(m_path, output.errorString());
    return {};
}

void StateDir::removeFile(const QString &name) const
{
    QFile::remove(file(name));
}

} // namespace tidekeeper::app
