// SPDX-License-Identifier: Apache-2.0
#include "renewal/vigil.h"

#include "core/planner.h"
#include "log/log.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

#include <map>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

struct Time {
    qint64 activeMs = 0;
    qint64 lapsedMs = 0;

    void add(const store::CoverageHour &hour)
    {
        activeMs += hour.activeMs;
        lapsedMs += hour.lapsedMs;
    }

    /// Never above 1 nor below 0: a gap is noted a moment before the sample that counts its account as active.
    QJsonValue share() const
    {
        if (activeMs <= 0)
            return QJsonValue::Null;
        return 1.0 - std::clamp(double(lapsedMs) / double(activeMs), 0.0, 1.0);
    }
};

void warn(const Result<> &result)
{
    if (!result)
        log::warning(u"coverage"_s, result.error().text);
}

} // namespace

QJsonObject coverageView(const QList<store::CoverageHour> &hours, qint64 nowMs)
{
    Time all;
    Time lastDay;
    std::map<qint64, Time> days;
    for (const store::CoverageHour &hour : hours) {
        all.add(hour);
        days[hour.hour / 24].add(hour);
        if (hour.hour > nowMs / core::hourMs - 24)
            lastDay.add(hour);
    }
    QJsonArray list;
    for (const auto &[day, time] : days) {
        const QDateTime midnight = QDateTime::fromMSecsSinceEpoch(day * core::dayMs, Qt::UTC);
        list.append(QJsonObject{{u"day"_s, midnight.toString(u"yyyy-MM-dd"_s)}, {u"share"_s, time.share()}});
    }
    return {{u"share"_s, all.share()},
            {u"share_24h"_s, lastDay.share()},
            {u"active_ms"_s, all.activeMs},
            {u"lapsed_ms"_s, all.lapsedMs},
            {u"days"_s, list}};
}

Vigil::Vigil(store::CoverageStore &coverage, store::LapseStore &lapses, const Clock &clock, Publish publish,
             QObject *parent)
    : QObject(parent), m_coverage(coverage), m_lapses(lapses), m_clock(clock), m_publish(std::move(publish)),
      m_coverageView(coverageView({}, 0))
{
    m_timer.setInterval(everyMs);
    connect(&m_timer, &QTimer::timeout, this, [this] { look(); });
}

void Vigil::start()
{
    m_timer.start();
    look();
}

QCoro::Task<> Vigil::look()
{
    const qint64 nowMs = m_clock.nowMs();
    warn(co_await m_coverage.sample(nowMs));
    co_await tellLapses(nowMs);
    co_await readCoverage(nowMs);
    if (nowMs - m_prunedAt < core::dayMs)
        co_return;
    m_prunedAt = nowMs;
    warn(co_await m_coverage.prune(nowMs - keptDays * core::dayMs));
}

QCoro::Task<> Vigil::noteGap(qint64 fromMs, qint64 toMs)
{
    warn(co_await m_coverage.addGap(fromMs, toMs));
}

QCoro::Task<> Vigil::tellLapses(qint64 nowMs)
{
    const Result<QList<store::Lapse>> lapses =
        co_await m_lapses.take(nowMs - lapseGraceMs, nowMs, mostLapsesAtOnce);
    if (!lapses) {
        log::warning(u"coverage"_s, lapses.error().text);
        co_return;
    }
    for (const store::Lapse &lapse : *lapses)
        m_publish(u"account.lapsed"_s, {{u"account"_s, lapse.account}, {u"expired_at"_s, lapse.expiredAt}});
}

QCoro::Task<> Vigil::readCoverage(qint64 nowMs)
{
    const Result<QList<store::CoverageHour>> hours =
        co_await m_coverage.since(nowMs - shownDays * core::dayMs);
    if (hours)
        m_coverageView = coverageView(*hours, nowMs);
    else
        log::warning(u"coverage"_s, hours.error().text);
}

} // namespace tidekeeper::renewal
