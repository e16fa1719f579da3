// SPDX-License-Identifier: Apache-2.0
#include "limits/levelindex.h"

#include <QtCore/QPointer>
#include <QtCore/QRandomGenerator>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr int mostPerCommand = 500;
constexpr int partEveryMs = 12; // all parts in 768 ms
constexpr int idleLookEveryMs = 200;
constexpr int houseEveryMs = 1'000;
constexpr qint64 engineLivesMs = 10'000;
constexpr qint64 engineKnownMs = 150'000; // as long as there are uses of it to read
constexpr qint64 listedWhenFullMs = 15 * 60'000;
const QByteArray usesTtlMs("120000");
const QByteArray indexTtlMs("3600000"); // when the last engine has gone

void ignored(const Result<redis::Value> &) { }

} // namespace

LevelIndex::LevelIndex(redis::RedisConnection &connection, Projects &projects, const Clock &clock,
                       QObject *parent)
    : QObject(parent), m_connection(connection), m_projects(projects), m_clock(clock),
      m_engineId(QByteArray::number(QRandomGenerator::system()->generate64(), 36))
{
    connect(&m_partTimer, &QTimer::timeout, this, &LevelIndex::writeNextPart);
    m_partTimer.start(idleLookEveryMs);
    connect(&m_houseTimer, &QTimer::timeout, this, &LevelIndex::keepHouse);
    m_houseTimer.start(houseEveryMs);
}

bool LevelIndex::canWrite() const
{
    return m_connection.isReady() && !m_connection.isBreakerOpen();
}

void LevelIndex::writeNextPart()
{
    bool isIdle = true;
    bool hasMore = false;
    for (const auto &project : m_projects.all()) {
        if (project->active.isEmpty())
            continue;
        isIdle = false;
        if (!canWrite())
            continue;
        const auto changes = project->active.takeChanges(m_part, mostPerCommand, m_clock.nowMs());
        write(*project, changes);
        hasMore = hasMore || changes.hasMore;
    }
    if (!hasMore)
        m_part = (m_part + 1) % ActiveAccounts::partCount;
    const int everyMs = isIdle ? idleLookEveryMs : partEveryMs;
    if (m_partTimer.interval() != everyMs)
        m_partTimer.setInterval(everyMs);
}

void LevelIndex::write(const Project &project, const ActiveAccounts::Changes &changes)
{
    if (!changes.index.isEmpty())
        m_connection.send(QByteArrayList{"ZADD", project.keys.active()} + changes.index, ignored);
    for (auto slot = changes.usesBySlot.cbegin(); slot != changes.usesBySlot.cend(); ++slot) {
        const QByteArray key = project.keys.uses(m_engineId, slot.key());
        m_connection.send(QByteArrayList{"HSET", key} + *slot, ignored);
        m_connection.send({"PEXPIRE", key, usesTtlMs}, ignored);
    }
}

void LevelIndex::keepHouse()
{
    if (!canWrite())
        return;
    for (const auto &project : m_projects.all()) {
        sayThatWeLive(*project);
        forgetFullAccounts(*project);
    }
}

void LevelIndex::sayThatWeLive(const Project &project)
{
    const qint64 nowMs = m_clock.nowMs();
    const QByteArray key = project.keys.engines();
    m_connection.send({"ZADD", key, QByteArray::number(nowMs), m_engineId}, ignored);
    m_connection.send({"PEXPIRE", key, indexTtlMs}, ignored);
    m_connection.send({"ZREMRANGEBYSCORE", key, "-inf", QByteArray::number(nowMs - engineKnownMs)}, ignored);
    const QPointer<LevelIndex> self(this);
    m_connection.send(
        {"ZCOUNT", key, QByteArray::number(nowMs - engineLivesMs), "+inf"},
        [self, limiter = project.limiter, name = project.name](const Result<redis::Value> &count) {
            if (self && count && count->type == redis::Value::Type::Integer)
                Q_EMIT self->enginesCounted(limiter, name, std::max(1, int(count->integer)));
        });
}

/// At most 500 a second, by their times, so that one that was written anew meanwhile stays.
void LevelIndex::forgetFullAccounts(const Project &project)
{
    const QByteArray key = project.keys.active();
    const QByteArray longAgo = QByteArray::number(m_clock.nowMs() - listedWhenFullMs);
    m_connection.send({"PEXPIRE", key, indexTtlMs}, ignored);
    const QPointer<LevelIndex> self(this);
    m_connection.send({"ZRANGE", key, "-inf", longAgo, "BYSCORE", "LIMIT",
                       QByteArray::number(mostPerCommand - 1), "1", "WITHSCORES"},
                      [self, key, longAgo](const Result<redis::Value> &last) {
                          if (!self || !last || last->isError())
                              return;
                          const QByteArray upTo = last->items.size() == 2 ? last->items[1].text : longAgo;
                          self->m_connection.send({"ZREMRANGEBYSCORE", key, "-inf", upTo}, ignored);
                      });
}

} // namespace tidekeeper::limits
