// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QList>
#include <QtCore/QString>

namespace tidekeeper::faults {

/// One line that a worker process wrote down, at the moment it happened.
struct JournalLine {
    qint64 atMs = 0; ///< steadyMs()
    qint64 pid = 0;
    QByteArray what; ///< ready, started, ended, stalled, lost
    QByteArray job; ///< id
    int number = 0; ///< of the wish it was made for
    int tries = 0; ///< orderly ends before this start, as the worker was told
    QByteArray word; ///< of started: how often; of ended: done, retry, …, taken_over
};

/// What happened to jobs as the workers themselves saw it, apart from Redis: one file for all of them, a line a write,
/// appended, so that a process that is killed leaves whole lines.
class Journal {
public:
    explicit Journal(const QString &file);
    ~Journal();
    Journal(const Journal &) = delete;
    Journal &operator=(const Journal &) = delete;

    void write(const QByteArray &what, const QByteArray &job = "-", int number = 0, int tries = 0,
               const QByteArray &word = "-");
    static QList<JournalLine> read(const QString &file);

private:
    int m_file;
};

/// ms of a clock that all processes of the machine share and nobody sets.
qint64 steadyMs();

} // namespace tidekeeper::faults
