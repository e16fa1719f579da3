// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "journal.h"
#include "queue/jobhistory.h"
#include "redis/functionlibrary.h"
#include "wish.h"

namespace tidekeeper::faults {

/// Says afterwards whether a queue kept what it promises: each job was started at least once and finished exactly once,
/// with the outcome and the counts that its wish says, none is lost, and nothing is left behind.
class Oracle {
public:
    struct Expectation {
        bool startsOnce = false; ///< no job was started twice (nothing went wrong that would permit it)
        bool repeatsMayDouble = true; ///< where a producer repeats itself, the job may have ended in between
        int maxStarts = 3; ///< after which poison is a dead letter
    };

    Oracle(QString queue, redis::FunctionLibrary &library, redis::RedisConnection &connection);

    /// What is wrong, a sentence each; nothing: all is well. All jobs have ended, the workers are gone.
    QStringList judge(const QList<Wish> &wishes, const QList<JournalLine> &journal,
                      Expectation expectation) const;

private:
    struct Job;
    using Jobs = QHash<QString, Job>; ///< by id

    QStringList addHistory(Jobs &jobs) const;
    QStringList leftBehind(int expectedDead) const;
    QList<QByteArray> keys() const;
    redis::Value command(QList<QByteArray> arguments) const;

    QString m_queue;
    redis::FunctionLibrary &m_library;
    redis::RedisConnection &m_connection;
};

} // namespace tidekeeper::faults
