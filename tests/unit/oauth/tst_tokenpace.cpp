// SPDX-License-Identifier: Apache-2.0
// Refreshes after an outage: few at a time, in their order, and nobody waits for ever.
#include "oauth/tokenpace.h"
#include "support/fakeclock.h"

#include <QCoro/QCoroFuture>
#include <QCoro/QCoroTimer>
#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

#include <chrono>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;
using namespace std::chrono_literals;

namespace {

const QString lane = u"client\ndefault\ndefault"_s;

/// A token endpoint that answers when the test lets it.
class FakeEndpoint {
public:
    TokenPace::Ask ask(int number)
    {
        return [this, number] { return answer(this, number); };
    }
    /// Answers everything that is in flight now; how many that were.
    int answerAll(bool good)
    {
        std::deque<QPromise<bool>> now = std::move(m_inFlight);
        m_inFlight.clear();
        for (QPromise<bool> &each : now) {
            each.addResult(good);
            each.finish();
        }
        return static_cast<int>(now.size());
    }

    QList<int> order;
    qsizetype peak = 0;

private:
    static QCoro::Task<GrantResult> answer(FakeEndpoint *self, int number)
    {
        self->order.append(number);
        QPromise<bool> promise;
        promise.start();
        const QFuture<bool> future = promise.future();
        self->m_inFlight.push_back(std::move(promise));
        self->peak = std::max(self->peak, static_cast<qsizetype>(self->m_inFlight.size()));
        const bool good = co_await future;
        if (!good)
            co_return tl::unexpected(core::Outcome::transient(u"http_503"_s, u"Unavailable."_s));
        co_return core::TokenGrant{u"ya29"_s, 3599, {}};
    }

    std::deque<QPromise<bool>> m_inFlight;
};

} // namespace

class TestTokenPace : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void slowStartAfterAnOutage();
    void lanesDoNotWaitForEachOther();
    void whoWaitsTooLongIsTransient();
    void aRefusalIsAnAnswer();
    void stormOfTenThousand();

private:
    void ask(TokenPace &pace, FakeEndpoint &endpoint, int count, const QString &name = lane)
    {
        for (int i = 0; i < count; ++i)
            pace.ask(name, endpoint.ask(i)).then([this](const GrantResult &result) {
                m_results.append(result);
            });
    }

    QList<GrantResult> m_results;
    test::FakeClock m_clock;
};

void TestTokenPace::slowStartAfterAnOutage()
{
    m_results.clear();
    TokenPace pace(m_clock, {8, 10'000});
    FakeEndpoint endpoint;
    ask(pace, endpoint, 30);
    QList<int> inFlight;
    for (const bool good : {false, true, true, true, true, false, true}) {
        inFlight.append(pace.inFlight(lane));
        const qsizetype before = m_results.size();
        const int answered = endpoint.answerAll(good);
        QTRY_COMPARE(m_results.size(), before + answered);
    }
    QCOMPARE(inFlight, (QList<int>{1, 1, 2, 4, 8, 8, 1}));
    QList<int> expected;
    for (int i = 0; i < endpoint.order.size(); ++i)
        expected.append(i);
    QCOMPARE(endpoint.order, expected); // first come, first served
    while (endpoint.answerAll(true) > 0)
        QTest::qWait(1);
    QTRY_COMPARE(m_results.size(), 30);
    QCOMPARE(pace.inFlight(lane), 0);
}

void TestTokenPace::lanesDoNotWaitForEachOther()
{
    m_results.clear();
    TokenPace pace(m_clock);
    FakeEndpoint stuck;
    FakeEndpoint other;
    ask(pace, stuck, 5);
    ask(pace, other, 1, u"client\ndefault\nother"_s);
    QCOMPARE(other.answerAll(true), 1);
    QTRY_COMPARE(m_results.size(), 1);
    QVERIFY(m_results.first().has_value());
    m_clock.advance(10'000);
    QTRY_COMPARE(pace.waiting(lane), 0);
    stuck.answerAll(true);
    QTRY_COMPARE(m_results.size(), 6);
}

void TestTokenPace::whoWaitsTooLongIsTransient()
{
    m_results.clear();
    TokenPace pace(m_clock, {1, 10'000});
    FakeEndpoint endpoint;
    ask(pace, endpoint, 3);
    m_clock.advance(9'999);
    QTest::qWait(300);
    QCOMPARE(m_results.size(), 0);
    m_clock.advance(1);
    QTRY_COMPARE(m_results.size(), 2);
    for (const GrantResult &late : m_results) {
        QCOMPARE(toString(late.error().kind), u"transient"_s); // never "revoked"
        QCOMPARE(late.error().code, u"token_queue"_s);
    }
    QCOMPARE(endpoint.order, QList<int>{0}); // the others were never sent
    endpoint.answerAll(true);
    QTRY_COMPARE(m_results.size(), 3);
}

void TestTokenPace::aRefusalIsAnAnswer()
{
    TokenPace pace(m_clock);
    const TokenPace::Ask refused = []() -> QCoro::Task<GrantResult> {
        co_return tl::unexpected(core::Outcome::revoked(u"invalid_grant"_s, u"Revoked."_s));
    };
    QCOMPARE(QCoro::waitFor(pace.ask(lane, refused)).error().code, u"invalid_grant"_s);
    m_results.clear();
    FakeEndpoint endpoint;
    ask(pace, endpoint, 4);
    QCOMPARE(pace.inFlight(lane), 2); // the endpoint works: room for two
    while (endpoint.answerAll(true) > 0)
        QTest::qWait(1);
    QTRY_COMPARE(m_results.size(), 4);
}

/// Ten thousand accounts ask in the moment the endpoint is back; it takes 2 ms for each and would bear any number.
void TestTokenPace::stormOfTenThousand()
{
    TokenPace pace(m_clock);
    int inFlight = 0;
    int peak = 0;
    int done = 0;
    const TokenPace::Ask slow = [&]() -> QCoro::Task<GrantResult> {
        return [](int *now, int *most) -> QCoro::Task<GrantResult> {
            *most = std::max(*most, ++*now);
            co_await QCoro::sleepFor(2ms);
            --*now;
            co_return core::TokenGrant{u"ya29"_s, 3599, {}};
        }(&inFlight, &peak);
    };
    QElapsedTimer timer;
    timer.start();
    for (int i = 0; i < 10'000; ++i)
        pace.ask(lane, slow).then([&](const GrantResult &result) { done += result ? 1 : 0; });
    QTRY_COMPARE_WITH_TIMEOUT(done, 10'000, 60'000);
    qInfo("10,000 refreshes: at most %d in flight, %lld per second", peak,
          10'000'000LL / std::max<qint64>(timer.elapsed(), 1));
    QCOMPARE(peak, TokenPace::Options().most);
}

QTEST_GUILESS_MAIN(TestTokenPace)
#include "tst_tokenpace.moc"
