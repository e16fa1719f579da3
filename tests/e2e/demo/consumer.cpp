// SPDX-License-Identifier: Apache-2.0
#include "demo/consumer.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QElapsedTimer>
#include <QtCore/QJsonArray>

#include <algorithm>
#include <chrono>

using namespace Qt::StringLiterals;

namespace tidekeeper::demo {

namespace {

constexpr qint64 grantValidMs = 2'000;
constexpr qint64 longWaitMs = 1'000; // after such a wait, look whether the account was frozen meanwhile
constexpr qint64 sliceMs = 200; // so that a stop is noticed
constexpr qint64 mostWaitMs = 5'000;

const QString acquirePath = u"/api/v1/limiters/gmail/acquire"_s;

} // namespace

Consumer::Consumer(Kind kind, unsigned seed, const Places &places, Tally &tally)
    : m_kind(kind), m_account(places.account), m_lane(kind == Kind::Realtime ? u"realtime"_s : u"bulk"_s),
      m_engine(places.engine, places.engineToken), m_google(places.google, places.accessToken),
      m_tally(tally), m_random(seed)
{ }

QCoro::Task<> Consumer::run()
{
    while (!m_stopping) {
        switch (m_kind) {
        case Kind::FirstSync:
            co_await firstSync();
            break;
        case Kind::Batch:
            co_await batch();
            break;
        case Kind::Realtime:
            co_await realtime();
            break;
        }
    }
}

QCoro::Task<> Consumer::firstSync()
{
    QString page;
    do {
        const bool mayList = co_await leave(u"gmail.users.threads.list"_s);
        if (!mayList)
            co_return;
        const QJsonObject list = co_await gmail(u"threads?maxResults=10&pageToken="_s + page);
        const QJsonArray threads = list.value(u"threads"_s).toArray();
        for (const QJsonValue &thread : threads) {
            const bool mayGet = co_await leave(u"gmail.users.threads.get"_s);
            if (!mayGet)
                co_return;
            co_await gmail(u"threads/%1?format=full"_s.arg(thread[u"id"].toString()));
        }
        page = list.value(u"nextPageToken"_s).toString();
    } while (!page.isEmpty());
}

QCoro::Task<> Consumer::batch()
{
    const bool mayList = co_await leave(u"gmail.users.threads.list"_s);
    if (!mayList)
        co_return;
    const QJsonObject list = co_await gmail(u"threads?maxResults=20"_s);
    const QJsonArray threads = list.value(u"threads"_s).toArray();
    for (const QJsonValue &thread : threads) {
        const bool mayGet = co_await leave(u"gmail.users.threads.get"_s);
        if (!mayGet)
            co_return;
        co_await gmail(u"threads/%1?format=minimal"_s.arg(thread[u"id"].toString()));
    }
}

QCoro::Task<> Consumer::realtime()
{
    const bool mayLook = co_await leave(u"gmail.users.getProfile"_s);
    if (!mayLook)
        co_return;
    const QJsonObject profile = co_await gmail(u"profile"_s);
    QString cursor = profile.value(u"historyId"_s).toString();
    while (!m_stopping && !cursor.isEmpty()) {
        co_await pause(std::uniform_int_distribution<qint64>(400, 1'200)(m_random));
        const bool mayList = co_await leave(u"gmail.users.history.list"_s);
        if (!mayList)
            co_return;
        const QJsonObject changes = co_await gmail(u"history?startHistoryId="_s + cursor);
        cursor = changes.value(u"historyId"_s).toString();
        const QJsonArray records = changes.value(u"history"_s).toArray();
        for (const QJsonValue &record : records) {
            const bool mayGet = co_await leave(u"gmail.users.messages.get"_s);
            if (!mayGet)
                co_return;
            co_await gmail(u"messages/"_s + record[u"messages"][0][u"id"].toString());
        }
    }
}

QCoro::Task<bool> Consumer::leave(QString method)
{
    QElapsedTimer waited;
    waited.start();
    while (!m_stopping) {
        const QJsonObject request{{u"account"_s, m_account},
                                  {u"method"_s, method},
                                  {u"lane"_s, m_lane},
                                  {u"max_wait_ms"_s, mostWaitMs}};
        const JsonAnswer answer = co_await m_engine.post(acquirePath, request);
        if (answer.good()) {
            const bool used = co_await useGrant(answer.body);
            if (!used)
                continue;
            ++m_tally.granted;
            if (m_kind == Kind::Realtime)
                m_tally.longestRealtimeWaitMs = std::max(m_tally.longestRealtimeWaitMs, waited.elapsed());
            co_return true;
        }
        if (answer.status == 429)
            ++m_tally.refused;
        else
            m_tally.lastProblem = u"limiter: "_s + answer.sentence();
        const qint64 retryMs = answer.body.value(u"retry_after_ms"_s).toInteger(sliceMs);
        co_await pause(std::clamp<qint64>(retryMs, 1, 60'000));
    }
    co_return false;
}

/// Sleeps as the grant says; false when it may no longer be used, and then it was given back.
QCoro::Task<bool> Consumer::useGrant(QJsonObject grant)
{
    const qint64 waitMs = grant.value(u"wait_ms"_s).toInteger();
    QElapsedTimer timer;
    timer.start();
    co_await pause(waitMs);
    bool open = !m_stopping;
    if (open && waitMs > longWaitMs)
        open = co_await stillOpen();
    if (open && timer.elapsed() <= waitMs + grantValidMs)
        co_return true;
    ++m_tally.refunded;
    co_await refund(grant.value(u"grant_id"_s).toString());
    co_return false;
}

/// A request of cost 0 is refused only while the account or the project is frozen.
QCoro::Task<bool> Consumer::stillOpen()
{
    const QJsonObject request{{u"account"_s, m_account}, {u"cost"_s, 0}, {u"lane"_s, m_lane}};
    const JsonAnswer answer = co_await m_engine.post(acquirePath, request);
    co_return answer.status != 429;
}

QCoro::Task<> Consumer::refund(QString grantId)
{
    const QJsonObject request{{u"grant_id"_s, grantId}};
    co_await m_engine.post(u"/api/v1/limiters/gmail/refund"_s, request);
}

QCoro::Task<QJsonObject> Consumer::gmail(QString target)
{
    ++m_tally.gmailCalls;
    const JsonAnswer answer = co_await m_google.get(u"/gmail/v1/users/me/"_s + target);
    if (!answer.good()) {
        ++m_tally.gmailFailed;
        m_tally.lastProblem = u"Gmail: "_s + answer.sentence();
        co_await pause(1'000);
    }
    co_return answer.body;
}

QCoro::Task<> Consumer::pause(qint64 ms)
{
    QElapsedTimer timer;
    timer.start();
    while (!m_stopping && timer.elapsed() < ms) {
        const std::chrono::milliseconds slice(std::min(sliceMs, ms - timer.elapsed()));
        co_await QCoro::sleepFor(slice);
    }
}

} // namespace tidekeeper::demo
