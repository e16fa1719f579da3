// SPDX-License-Identifier: Apache-2.0
#include "commandlog.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

QStringList CommandLog::serverArguments()
{
    return {u"--slowlog-log-slower-than"_s, u"0"_s, u"--slowlog-max-len"_s, u"1000000"_s};
}

void CommandLog::read(redis::RedisConnection &connection)
{
    // One after the other on one connection, and in one transaction: nothing falls in between.
    connection.send({"MULTI"}, [](const Result<redis::Value> &) {});
    connection.send({"SLOWLOG", "GET", "-1"}, [](const Result<redis::Value> &) {});
    connection.send({"SLOWLOG", "RESET"}, [](const Result<redis::Value> &) {});
    const Result<redis::Value> reply = QCoro::waitFor(connection.command({"EXEC"}));
    if (!reply || reply->items.isEmpty())
        return;
    const QList<redis::Value> &entries = reply->items.first().items; // newest first
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        QList<QByteArray> command;
        for (const redis::Value &argument : entry->items[3].items)
            command.append(argument.text);
        take(command);
    }
}

void CommandLog::take(const QList<QByteArray> &command)
{
    const QByteArray name = command.first().toUpper();
    if (name == "HSET" || name == "XADD") {
        m_writes.append(command);
        return;
    }
    if (name != "FCALL")
        return;
    if (command.value(1) == "tidekeeper_fire_v1")
        takeFire(command);
    else if (command.value(1) == "tidekeeper_fence_v1")
        see(command[3], command[5].toLongLong());
    m_writes.clear();
}

/// FCALL tidekeeper_fire_v1 1 queue schedule expected nominal lease term …
void CommandLog::takeFire(const QList<QByteArray> &command)
{
    Fire fire{.queue = command[3],
              .schedule = command[4],
              .nominalMs = command[6].toLongLong(),
              .term = command[8].toLongLong()};
    fire.isStale = fire.term < m_newest.value(fire.queue);
    for (const QList<QByteArray> &write : m_writes) {
        fire.moved |= write[0] == "HSET" && write[1] == fire.queue + ":schedule:" + fire.schedule
            && write[2] == "nominal";
        fire.enqueued += write[0] == "XADD" && write[1].startsWith(fire.queue + ":stream:");
    }
    see(fire.queue, fire.term);
    m_fires.append(fire);
}

void CommandLog::see(const QByteArray &queue, qint64 term)
{
    m_newest[queue] = std::max(m_newest.value(queue), term);
    if (term != 0)
        ++m_terms[term];
}

} // namespace tidekeeper::faults
