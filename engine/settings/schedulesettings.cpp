// SPDX-License-Identifier: Apache-2.0
#include "settings/schedulesettings.h"

#include "log/log.h"

#include <QCoro/QCoroSignal>

using namespace Qt::StringLiterals;

namespace tidekeeper::settings {

namespace {

constexpr int lookMs = 500; // so that a change is in force everywhere within a second

const QString logName = u"scheduler"_s;
const QString commonPrefix = u"schedule"_s; // of the next two
const QString changePrefix = u"schedule."_s;
const QString declarationPrefix = u"schedule_declared."_s;

QJsonObject withoutPrefix(const QMap<QString, QJsonObject> &stored, const QString &prefix)
{
    QJsonObject byId;
    for (auto row = stored.lowerBound(prefix); row != stored.end() && row.key().startsWith(prefix); ++row)
        byId.insert(row.key().mid(prefix.size()), row.value());
    return byId;
}

} // namespace

ScheduleSettings::ScheduleSettings(store::SettingsStore &store, scheduler::Scheduler &scheduler,
                                   const Clock &clock)
    : m_store(store), m_scheduler(scheduler), m_clock(clock)
{
    m_scheduler.setKeeper(this);
    m_timer.setInterval(lookMs);
    connect(&m_timer, &QTimer::timeout, this, [this] {
        if (!m_isLooking)
            look();
    });
}

ScheduleSettings::~ScheduleSettings()
{
    m_scheduler.setKeeper(nullptr);
}

QCoro::Task<> ScheduleSettings::start()
{
    m_timer.start();
    co_await look();
}

QCoro::Task<> ScheduleSettings::stop()
{
    m_timer.stop();
    while (m_isLooking)
        co_await qCoro(this, &ScheduleSettings::looked);
}

QCoro::Task<> ScheduleSettings::look()
{
    while (m_isLooking)
        co_await qCoro(this, &ScheduleSettings::looked);
    m_isLooking = true;
    const Result<Stored> stored = co_await m_store.all(commonPrefix);
    noteReading(stored);
    if (stored) {
        m_scheduler.restore(withoutPrefix(*stored, changePrefix), withoutPrefix(*stored, declarationPrefix));
        if (!std::exchange(m_isKnown, true))
            Q_EMIT known();
        co_await remember(*stored);
    }
    m_isLooking = false;
    Q_EMIT looked();
}

/// What was read last stays in force while the database is away.
void ScheduleSettings::noteReading(const Result<Stored> &read)
{
    const QString problem = read ? QString() : read.error().text;
    if (problem.isEmpty() != m_readProblem.isEmpty()) {
        if (problem.isEmpty())
            log::info(logName, u"What operators change of schedules is read again."_s);
        else
            log::error(logName, u"What operators change of schedules is not read: "_s + problem);
    }
    m_readProblem = problem;
}

/// One that another engine declares otherwise, with another version of the plugin, is written by whoever starts later.
QCoro::Task<> ScheduleSettings::remember(Stored stored)
{
    const QJsonObject declarations = m_scheduler.declarations();
    for (auto each = declarations.begin(); each != declarations.end(); ++each) {
        const QString id = each.key();
        const QJsonObject declaration = each->toObject();
        if (m_remembered.contains(id))
            continue;
        const QString setting = declarationPrefix + id;
        Result<> kept;
        const QJsonObject before = stored.value(setting);
        if (before != declaration)
            kept = co_await m_store.replace(setting, before, declaration, u"engine"_s, m_clock.nowMs());
        if (kept)
            m_remembered.insert(id);
    }
}

QCoro::Task<Result<>> ScheduleSettings::keepChange(QString scheduleId, QJsonObject before, QJsonObject after,
                                                   QString actor)
{
    const QString setting = changePrefix + scheduleId;
    Result<> kept;
    if (before != after)
        kept = co_await m_store.replace(setting, before, after, actor, m_clock.nowMs());
    co_await look();
    co_return kept;
}

QCoro::Task<Result<>> ScheduleSettings::forget(QString scheduleId, QString actor)
{
    // The declaration last: while it stands, the orphan is shown and can be forgotten again.
    const QString change = changePrefix + scheduleId;
    const QString declaration = declarationPrefix + scheduleId;
    const Result<> changeGone = co_await m_store.remove(change, actor, m_clock.nowMs());
    if (!changeGone)
        co_return changeGone;
    const Result<> gone = co_await m_store.remove(declaration, actor, m_clock.nowMs());
    m_remembered.remove(scheduleId);
    co_await look();
    co_return gone;
}

} // namespace tidekeeper::settings
