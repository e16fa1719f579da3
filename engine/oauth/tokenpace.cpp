// SPDX-License-Identifier: Apache-2.0
#include "oauth/tokenpace.h"

#include <QCoro/QCoroFuture>

#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

constexpr int checkLateEveryMs = 250;
constexpr qsizetype mostIdleLanes = 256; // each account with a token service of its own has one

void settle(core::SlowStart &requests, qint64 ticket, const GrantResult &answer, qint64 nowMs)
{
    if (!answer && answer.error().kind == core::OutcomeKind::Transient)
        requests.failed(ticket, nowMs);
    else
        requests.succeeded(ticket, nowMs); // a refusal too is the answer of an endpoint that works
}

} // namespace

TokenPace::TokenPace(const Clock &clock, Options options) : m_clock(clock), m_options(options)
{
    m_lateTimer.setInterval(checkLateEveryMs);
    QObject::connect(&m_lateTimer, &QTimer::timeout, &m_lateTimer, [this] { giveUpLate(); });
}

QCoro::Task<GrantResult> TokenPace::ask(QString name, Ask ask)
{
    const LanePointer lane = laneOf(name);
    qint64 ticket = 0;
    if (lane->waiters.empty() && lane->requests.hasRoom(m_clock.monotonicMs())) {
        ticket = lane->requests.started(m_clock.monotonicMs());
    } else {
        const QFuture<qint64> turn = turnIn(*lane);
        ticket = co_await turn;
    }
    if (ticket == 0)
        co_return tl::unexpected(core::Outcome::transient(
            u"token_queue"_s, u"Too many token requests were waiting; this one was not sent."_s));
    const GrantResult answer = co_await ask();
    settle(lane->requests, ticket, answer, m_clock.monotonicMs());
    next(*lane);
    co_return answer;
}

TokenPace::LanePointer TokenPace::laneOf(const QString &name)
{
    if (const LanePointer known = m_lanes.value(name))
        return known;
    if (m_lanes.size() >= mostIdleLanes)
        m_lanes.removeIf([](const auto &entry) {
            return entry.value()->requests.inFlight() == 0 && entry.value()->waiters.empty();
        });
    const auto lane = std::make_shared<Lane>(m_options.most);
    m_lanes.insert(name, lane);
    return lane;
}

QFuture<qint64> TokenPace::turnIn(Lane &lane)
{
    Waiter waiter{{}, m_clock.monotonicMs() + m_options.longestWaitMs};
    waiter.ticket.start();
    QFuture<qint64> future = waiter.ticket.future();
    lane.waiters.push_back(std::move(waiter));
    if (!m_lateTimer.isActive())
        m_lateTimer.start();
    return future;
}

void TokenPace::next(Lane &lane)
{
    const qint64 nowMs = m_clock.monotonicMs();
    while (!lane.waiters.empty() && lane.requests.hasRoom(nowMs)) {
        Waiter waiter = std::move(lane.waiters.front());
        lane.waiters.pop_front();
        waiter.ticket.addResult(waiter.untilMs > nowMs ? lane.requests.started(nowMs) : 0);
        waiter.ticket.finish();
    }
}

void TokenPace::giveUpLate()
{
    bool anyoneWaits = false;
    for (const LanePointer &lane : std::as_const(m_lanes)) {
        while (!lane->waiters.empty() && lane->waiters.front().untilMs <= m_clock.monotonicMs()) {
            Waiter waiter = std::move(lane->waiters.front());
            lane->waiters.pop_front();
            waiter.ticket.addResult(0);
            waiter.ticket.finish();
        }
        anyoneWaits = anyoneWaits || !lane->waiters.empty();
    }
    if (!anyoneWaits)
        m_lateTimer.stop();
}

int TokenPace::inFlight(const QString &lane) const
{
    const LanePointer known = m_lanes.value(lane);
    return known ? known->requests.inFlight() : 0;
}

int TokenPace::waiting(const QString &lane) const
{
    const LanePointer known = m_lanes.value(lane);
    return known ? static_cast<int>(known->waiters.size()) : 0;
}

} // namespace tidekeeper::oauth
