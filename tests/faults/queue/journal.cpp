// SPDX-License-Identifier: Apache-2.0
#include "journal.h"

#include <QtCore/QFile>

#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

namespace tidekeeper::faults {

Journal::Journal(const QString &file)
    : m_file(::open(QFile::encodeName(file).constData(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600))
{
    if (m_file < 0)
        qFatal("The journal %s cannot be opened.", qPrintable(file));
}

Journal::~Journal()
{
    ::close(m_file);
}

void Journal::write(const QByteArray &what, const QByteArray &job, int number, int tries,
                    const QByteArray &word)
{
    const QByteArray line = QByteArray::number(steadyMs()) + ' ' + QByteArray::number(::getpid()) + ' ' + what
        + ' ' + job + ' ' + QByteArray::number(number) + ' ' + QByteArray::number(tries) + ' ' + word + '\n';
    if (::write(m_file, line.constData(), size_t(line.size())) != line.size())
        qFatal("The journal cannot be written.");
}

QList<JournalLine> Journal::read(const QString &file)
{
    QFile journal(file);
    QList<JournalLine> lines;
    if (!journal.open(QIODevice::ReadOnly))
        return lines;
    while (!journal.atEnd()) {
        const QList<QByteArray> parts = journal.readLine().trimmed().split(' ');
        if (parts.size() != 7)
            qFatal("The journal has a line of another form.");
        lines.append({parts[0].toLongLong(), parts[1].toLongLong(), parts[2], parts[3], parts[4].toInt(),
                      parts[5].toInt(), parts[6]});
    }
    return lines;
}

qint64 steadyMs()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

} // namespace tidekeeper::faults
