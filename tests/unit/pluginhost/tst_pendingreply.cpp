// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/pendingreply.h"

#include <QCoro/QCoroTask>
#include <QtCore/QTimer>
#include <QtTest/QtTest>

#include <stdexcept>
#include <thread>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::pluginhost;

namespace {

const QJsonObject answer{{u"n"_s, 1}};

LateAnswers counter()
{
    return std::make_shared<std::atomic<qint64>>(0);
}

} // namespace

class TestPendingReply : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void answersAtOnce();
    void answersLater();
    void answersFromAnotherThread();
    void passesTheFailureOn();
    void timesOut();
    void countsLateAnswers();
    void onlyTheFirstAnswerCounts();
    void turnsExceptionsIntoFailures();
    void stopsWaitingWhenTheEngineStops();
    void neverResumesInsideFinish();
    void quotaAnswers();
    void racesOfDeadlineAndAnswer();
};

void TestPendingReply::answersAtOnce()
{
    const QCoro::Task<Result<QJsonObject>> task =
        call(1'000, [](Reply *reply) { reply->finish(Status::success(), answer); });
    QVERIFY(task.isReady()); // without a turn of the event loop
}

void TestPendingReply::answersLater()
{
    const Result<QJsonObject> result = QCoro::waitFor(call(1'000, [](Reply *reply) {
        QTimer::singleShot(1, qApp, [reply] { reply->finish(Status::success(), answer); });
    }));
    QVERIFY(result);
    QCOMPARE(*result, answer);
}

void TestPendingReply::answersFromAnotherThread()
{
    Qt::HANDLE resumedOn = nullptr;
    std::thread thread;
    const Result<QJsonObject> result = QCoro::waitFor(call(5'000, [&thread](Reply *reply) {
        thread = std::thread([reply] { reply->finish(Status::success(), answer); });
    }));
    resumedOn = QThread::currentThreadId();
    thread.join();
    QVERIFY(result);
    QCOMPARE(resumedOn, QThread::currentThreadId());
}

void TestPendingReply::passesTheFailureOn()
{
    const Result<QJsonObject> result = QCoro::waitFor(call(1'000, [](Reply *reply) {
        reply->finish(Status::failure(u"gone"_s, u"It is gone."_s, {{u"field"_s, u"x"_s}}), {});
    }));
    QCOMPARE(result.error().code, u"gone"_s);
    QCOMPARE(result.error().details.value(u"field"_s), QJsonValue(u"x"_s));
}

void TestPendingReply::timesOut()
{
    Reply *kept = nullptr;
    const Result<QJsonObject> result = QCoro::waitFor(call(10, [&kept](Reply *reply) {
        QVERIFY(!reply->isAbandoned());
        kept = reply;
    }));
    QCOMPARE(result.error().code, u"timeout"_s);
    QVERIFY(kept->isAbandoned());
    kept->finish(Status::success(), {});
}

void TestPendingReply::countsLateAnswers()
{
    const LateAnswers late = counter();
    Reply *kept = nullptr;
    QCoro::waitFor(call(10, [&kept](Reply *reply) { kept = reply; }, {late, {}}));
    QCOMPARE(late->load(), 0);
    std::thread([kept] { kept->finish(Status::success(), answer); }).join();
    QCOMPARE(late->load(), 1);
}

void TestPendingReply::onlyTheFirstAnswerCounts()
{
    const LateAnswers late = counter();
    const Result<QJsonObject> result =
        QCoro::waitFor(call(1'000,
                            [](Reply *reply) {
                                reply->finish(Status::success(), answer);
                                reply->finish(Status::failure(u"second"_s, {}), {});
                            },
                            {late, {}}));
    QVERIFY(result);
    QCOMPARE(late->load(), 1);
}

void TestPendingReply::turnsExceptionsIntoFailures()
{
    const Result<QJsonObject> thrown =
        QCoro::waitFor(call(1'000, [](Reply *) { throw std::runtime_error("broken"); }));
    QCOMPARE(thrown.error().code, u"plugin_exception"_s);
    QVERIFY(thrown.error().text.contains("broken"_L1));

    const Result<QJsonObject> afterwards = QCoro::waitFor(call(1'000, [](Reply *reply) {
        reply->finish(Status::success(), answer);
        throw 42;
    }));
    QCOMPARE(afterwards.error().code, u"plugin_exception"_s);
}

void TestPendingReply::stopsWaitingWhenTheEngineStops()
{
    std::stop_source source;
    Reply *kept = nullptr;
    const QCoro::Task<Result<QJsonObject>> task =
        call(60'000, [&kept](Reply *reply) { kept = reply; }, {nullptr, source.get_token()});
    QVERIFY(!task.isReady());
    source.request_stop();
    QTRY_VERIFY(task.isReady());
    QVERIFY(kept->isAbandoned());
    kept->finish(Status::success(), {});

    const Result<QJsonObject> afterwards =
        QCoro::waitFor(call(60'000, [&kept](Reply *reply) { kept = reply; }, {nullptr, source.get_token()}));
    QCOMPARE(afterwards.error().code, u"stopping"_s);
    kept->finish(Status::success(), {});
}

void TestPendingReply::neverResumesInsideFinish()
{
    Reply *kept = nullptr;
    const QCoro::Task<Result<QJsonObject>> task = call(1'000, [&kept](Reply *reply) { kept = reply; });
    kept->finish(Status::success(), answer);
    QVERIFY(!task.isReady());
    QTRY_VERIFY(task.isReady());
}

void TestPendingReply::quotaAnswers()
{
    const Result<QuotaAnswer> result = QCoro::waitFor(callQuota(1'000, [](QuotaReply *reply) {
        QuotaAnswer granted;
        granted.granted = true;
        granted.waitMs = 7;
        QTimer::singleShot(1, qApp, [reply, granted] { reply->finish(Status::success(), granted); });
    }));
    QVERIFY(result && result->granted);
    QCOMPARE(result->waitMs, 7);

    QuotaReply *kept = nullptr;
    const Result<QuotaAnswer> late =
        QCoro::waitFor(callQuota(5, [&kept](QuotaReply *reply) { kept = reply; }));
    QCOMPARE(late.error().code, u"timeout"_s);
    kept->finish(Status::success(), {});
}

void TestPendingReply::racesOfDeadlineAndAnswer()
{
    // Answers that come from another thread at about the deadline: each is either taken or counted, never both.
    const LateAnswers late = counter();
    int taken = 0;
    constexpr int rounds = 300;
    for (int i = 0; i < rounds; ++i) {
        std::thread thread;
        const Result<QJsonObject> result = QCoro::waitFor(
            call(1,
                 [&thread, i](Reply *reply) {
                     thread = std::thread([reply, i] {
                         std::this_thread::sleep_for(std::chrono::microseconds(700 + (i % 10) * 100));
                         reply->finish(Status::success(), answer);
                     });
                 },
                 {late, {}}));
        thread.join();
        taken += result ? 1 : 0;
    }
    QCOMPARE(taken + late->load(), rounds);
}

QTEST_GUILESS_MAIN(TestPendingReply)
#include "tst_pendingreply.moc"
