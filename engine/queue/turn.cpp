// SPDX-License-Identifier: Apache-2.0
#include "queue/turn.h"

namespace tidekeeper::queue {

namespace {

QStringList texts(const redis::Value &array)
{
    QStringList list;
    for (const redis::Value &item : array.items)
        list.append(QString::fromUtf8(item.text));
    return list;
}

/// {id, owner, begun, type, payload, dedupe, starts, attempts, deferrals, enqueued_at, lane}
TurnAnswer::Taken takenFrom(const QList<redis::Value> &f)
{
    TurnAnswer::Taken taken;
    taken.job.id = QString::fromUtf8(f[0].text);
    taken.job.owner = f[1].text;
    taken.begun = f[2].toInteger() == 1;
    taken.job.type = QString::fromUtf8(f[3].text);
    taken.payload = f[4].text;
    taken.job.dedupeKey = QString::fromUtf8(f[5].text);
    taken.job.starts = static_cast<int>(f[6].toInteger());
    taken.job.attempts = static_cast<int>(f[7].toInteger());
    taken.job.deferrals = static_cast<int>(f[8].toInteger());
    taken.job.enqueuedAt = f[9].toInteger();
    taken.job.urgent = f[10].text == "urgent";
    return taken;
}

} // namespace

QList<QByteArray> Turn::arguments(const QByteArray &consumer, int leaseMs, int maxStarts) const
{
    QList<QByteArray> list;
    list.reserve(8 + 2 * (ends.size() + starts.size()));
    list << consumer << token << QByteArray::number(leaseMs) << QByteArray::number(maxStarts)
         << QByteArray::number(take) << QByteArray::number(begin) << (sweep ? "1" : "0")
         << QByteArray::number(ends.size());
    for (const QList<Job> *jobs : {&ends, &starts}) {
        for (const Job &job : *jobs)
            list << job.id.toUtf8() << job.owner;
    }
    return list;
}

std::optional<TurnAnswer> TurnAnswer::from(const redis::Value &reply, const Turn &turn)
{
    const auto &parts = reply.items;
    if (parts.size() != 7 || parts[0].items.size() != turn.ends.size()
        || parts[1].items.size() != turn.starts.size())
        return {};
    TurnAnswer answer;
    for (const redis::Value &one : parts[0].items)
        answer.ended.append(one.toInteger() == 1);
    for (const redis::Value &one : parts[1].items)
        answer.starts.append(static_cast<int>(one.toInteger()));
    answer.taken.reserve(parts[2].items.size());
    for (const redis::Value &job : parts[2].items) {
        if (job.items.size() != 11)
            return {};
        answer.taken.append(takenFrom(job.items));
    }
    answer.dueInMs = parts[3].toInteger(-1);
    for (const redis::Value &id : parts[4].items)
        answer.seen.append(id.text);
    answer.lost = texts(parts[5]);
    answer.stalled = texts(parts[6]);
    return answer;
}

} // namespace tidekeeper::queue
