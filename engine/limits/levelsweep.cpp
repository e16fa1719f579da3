// SPDX-License-Identifier: Apache-2.0
#include "limits/levelsweep.h"

#include <QtCore/QPointer>

#include <algorithm>
#include <vector>

namespace tidekeeper::limits {

namespace {

constexpr int everyMs = 1'000;
constexpr qsizetype pieceSize = 100;
constexpr qint64 listedWhenFullMs = 15 * 60'000;
const QByteArray turnMs("900");
const QByteArray cursorTtlMs("3600000");
const QByteArray keysPerScan("500");

/// The prefix as a pattern of SCAN that means it literally, and then anything.
QByteArray patternOf(const QByteArray &prefix)
{
    QByteArray pattern;
    for (const char c : prefix) {
        if (QByteArrayView("*?[]\\").contains(c))
            pattern += '\\';
        pattern += c;
    }
    return pattern + '*';
}

/// When the bucket of this hash (level_milli, at_us) will be full at the policy's pace, epoch ms; 0: not a bucket.
qint64 fullAtMs(const redis::Value &hash, const Policy::Scope &limits, qint64 clockOffsetUs)
{
    if (hash.items.size() != 2 || hash.items[0].isNil() || hash.items[1].isNil())
        return 0;
    const qint64 missingMilli = std::max(qint64(0), limits.capacity * 1000 - hash.items[0].toInteger());
    return (hash.items[1].toInteger() - clockOffsetUs) / 1000 + missingMilli * 60 / limits.refillPerMinute;
}

QByteArrayList takeTurn(const Keys &keys)
{
    return {"SET", keys.sweepTurn(), "1", "NX", "PX", turnMs};
}

QByteArrayList scanFrom(const QByteArray &cursor, const Keys &keys)
{
    return {"SCAN", cursor, "MATCH", patternOf(keys.anyAccount()), "COUNT", keysPerScan};
}

QByteArrayList keepCursor(const QByteArray &cursor, const Keys &keys)
{
    return {"SET", keys.sweepCursor(), cursor, "PX", cursorTtlMs};
}

} // namespace

LevelSweep::LevelSweep(redis::RedisConnection &connection, Projects &projects, const Clock &clock,
                       QObject *parent)
    : QObject(parent), m_connection(connection), m_projects(projects), m_clock(clock)
{
    connect(&m_timer, &QTimer::timeout, this, &LevelSweep::sweep);
    m_timer.start(everyMs);
}

QCoro::Task<> LevelSweep::sweep()
{
    if (m_isSweeping || !m_connection.isReady() || m_connection.isBreakerOpen())
        co_return;
    m_isSweeping = true;
    const QPointer<LevelSweep> self(this);
    const auto projects = m_projects.all();
    for (const auto &project : projects) {
        const Result<redis::Value> turn = co_await m_connection.command(takeTurn(project->keys));
        if (!self)
            co_return;
        if (!turn || turn->type != redis::Value::Type::Status)
            continue;
        const QByteArrayList found = co_await nextAccountKeys(project);
        for (qsizetype i = 0; self && i < found.size(); i += pieceSize)
            co_await addToIndex(project, found.mid(i, pieceSize));
        if (!self)
            co_return;
    }
    m_isSweeping = false;
}

/// The cursor is kept in Redis, so that the engines take turns in one round.
QCoro::Task<QByteArrayList> LevelSweep::nextAccountKeys(std::shared_ptr<Project> project)
{
    const QPointer<LevelSweep> self(this);
    const Keys &keys = project->keys;
    const QByteArrayList getCursor{"GET", keys.sweepCursor()};
    const Result<redis::Value> kept = co_await m_connection.command(getCursor);
    if (!self || !kept || kept->isError())
        co_return QByteArrayList();
    const QByteArray cursor = kept->isNil() ? QByteArray("0") : kept->text;
    const Result<redis::Value> scanned = co_await m_connection.command(scanFrom(cursor, keys));
    if (!self || !scanned || scanned->items.size() != 2)
        co_return QByteArrayList();
    co_await m_connection.command(keepCursor(scanned->items[0].text, keys));
    QByteArrayList found;
    for (const redis::Value &key : scanned->items[1].items)
        found.append(key.text);
    co_return found;
}

QCoro::Task<> LevelSweep::addToIndex(std::shared_ptr<Project> project, QByteArrayList accountKeys)
{
    const QPointer<LevelSweep> self(this);
    const QByteArray index = project->keys.active();
    std::vector<QCoro::Task<Result<redis::Value>>> answers; // all sent together, answered in order
    answers.push_back(m_connection.command({"HGET", project->keys.project(), "clock_offset_us"}));
    for (const QByteArray &key : accountKeys)
        answers.push_back(m_connection.command({"HMGET", key, "level_milli", "at_us"}));

    const Result<redis::Value> offset = co_await answers.front();
    const qint64 clockOffsetUs = offset ? offset->toInteger() : 0;
    QByteArrayList command{"ZADD", index, "GT"}; // what an engine told of it later stays
    for (qsizetype i = 0; i < accountKeys.size(); ++i) {
        const Result<redis::Value> hash = co_await answers[size_t(i) + 1];
        if (!self)
            co_return;
        const qint64 fullAt = hash ? fullAtMs(*hash, project->policy.account, clockOffsetUs) : 0;
        const QByteArray &key = accountKeys[i];
        if (fullAt > m_clock.nowMs() - listedWhenFullMs)
            command << QByteArray::number(fullAt) << key.mid(key.lastIndexOf(':') + 1);
    }
    if (self && command.size() > 3)
        co_await m_connection.command(command);
}

} // namespace tidekeeper::limits
