// SPDX-License-Identifier: Apache-2.0
#include "store/lockholder.h"

#include <QtCore/QFile>
#include <QtCore/QSet>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

// As /proc/locks names a file: major and minor of its device in hexadecimal, and its inode.
QByteArray kernelName(const QString &path)
{
    struct stat file { };
    if (::stat(QFile::encodeName(path).constData(), &file) != 0)
        return {};
    return QString::asprintf("%02x:%02x:%llu", major(file.st_dev), minor(file.st_dev),
                             static_cast<unsigned long long>(file.st_ino))
        .toLatin1();
}

QString processName(const QByteArray &pid)
{
    QFile file(u"/proc/%1/comm"_s.arg(QString::fromLatin1(pid)));
    return file.open(QIODevice::ReadOnly) ? QString::fromLocal8Bit(file.readAll().trimmed()) : QString();
}

} // namespace

QString lockHolder(const QString &path)
{
    const QSet<QByteArray> names{kernelName(path), kernelName(path + u"-wal"_s),
                                 kernelName(path + u"-shm"_s)};
    const QByteArray own = QByteArray::number(qint64(::getpid()));
    QFile locks(u"/proc/locks"_s);
    if (!locks.open(QIODevice::ReadOnly))
        return {};
    for (const QByteArray &line : locks.readAll().split('\n')) {
        // "1: POSIX  ADVISORY  WRITE 4711 fd:01:1234 0 EOF"; a waiting one has "->" after its number
        const QList<QByteArray> words = line.simplified().split(' ');
        if (words.size() < 6 || words.at(3) != "WRITE" || words.at(4) == own || !names.contains(words.at(5)))
            continue;
        const QString name = processName(words.at(4));
        const QString process = u"process %1"_s.arg(QString::fromLatin1(words.at(4)));
        return name.isEmpty() ? process : process + u" ("_s + name + u')';
    }
    return {};
}

} // namespace tidekeeper::store
