// SPDX-License-Identifier: Apache-2.0
#include "core/attemptwindow.h"
#include "core/planner.h"

#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

constexpr qint64 start = 1'800'000'000'000;
const QString project = u"default"_s;
const QString client = u"web"_s;
const QString invalidGrant = u"invalid_grant"_s;

EndedAttempt attempt(qint64 atMs, quint64 account, OutcomeKind kind = OutcomeKind::Renewed,
                     const QString &code = {})
{
    return {atMs, project, client, account, kind, code, 1};
}

void addMany(AttemptWindow &window, int count, qint64 fromMs, qint64 everyMs, OutcomeKind kind,
             const QString &code = {}, quint64 firstAccount = 1)
{
    for (int i = 0; i < count; ++i)
        window.add(attempt(fromMs + i * everyMs, firstAccount + static_cast<quint64>(i), kind, code));
}

} // namespace

class TestAttemptWindow : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void wave_data();
    void wave();
    void sinceIsTheFirstOfThem();
    void oneAccountIsNoWave();
    void anotherClientIsNoWave();
    void otherCodesAreCountedApart();
    void decidedIsForgotten();
    void countedInBulk();
    void transient_data();
    void transient();
    void transientsPass();
    void stopping_data();
    void stopping();
    void manyAttemptsAreCheap();
};

/// good attempts, then bad ones, each with a time between two, and the pause before it is looked.
void TestAttemptWindow::wave_data()
{
    QTest::addColumn<int>("good");
    QTest::addColumn<int>("bad");
    QTest::addColumn<qint64>("everyMs");
    QTest::addColumn<qint64>("laterMs");
    QTest::addColumn<bool>("expected");

    // xorbitsai/xagent#1988: after a rotation of the client's secret the old tokens give invalid_grant too.
    QTest::newRow("12 of 40") << 28 << 12 << qint64(1'000) << qint64(0) << true;
    QTest::newRow("9 of 1,000") << 991 << 9 << qint64(100) << qint64(0) << false;
    QTest::newRow("9 of 9") << 0 << 9 << qint64(1'000) << qint64(0) << false;
    QTest::newRow("10 of 10") << 0 << 10 << qint64(1'000) << qint64(0) << true;
    QTest::newRow("10 of 50: exactly a fifth") << 40 << 10 << qint64(1'000) << qint64(0) << true;
    QTest::newRow("10 of 51: less than a fifth") << 41 << 10 << qint64(1'000) << qint64(0) << false;
    QTest::newRow("200 of 1,000") << 800 << 200 << qint64(100) << qint64(0) << true;
    QTest::newRow("199 of 1,000") << 801 << 199 << qint64(100) << qint64(0) << false;
    QTest::newRow("few a day: the last 50 within 24 h") << 30 << 12 << hourMs / 2 << qint64(0) << true;
    QTest::newRow("after a quiet hour") << 28 << 12 << qint64(1'000) << hourMs << true;
    QTest::newRow("after a day") << 28 << 12 << qint64(1'000) << dayMs + hourMs << false;
}

void TestAttemptWindow::wave()
{
    QFETCH(int, good);
    QFETCH(int, bad);
    QFETCH(qint64, everyMs);
    QFETCH(qint64, laterMs);
    QFETCH(bool, expected);

    AttemptWindow window;
    addMany(window, good, start, everyMs, OutcomeKind::Renewed);
    addMany(window, bad, start + good * everyMs, everyMs, OutcomeKind::Revoked, invalidGrant, 100'000);
    const qint64 now = start + (good + bad) * everyMs + laterMs;
    const auto found = window.wave(project, client, invalidGrant, now);
    QCOMPARE(found.has_value(), expected);
    if (found)
        QCOMPARE(found->accounts, bad);
}

void TestAttemptWindow::sinceIsTheFirstOfThem()
{
    AttemptWindow window;
    addMany(window, 100, start, 1'000, OutcomeKind::Renewed);
    addMany(window, 30, start + 200'000, 1'000, OutcomeKind::Revoked, invalidGrant, 1'000);
    const auto busy = window.wave(project, client, invalidGrant, start + 230'000);
    QVERIFY(busy.has_value());
    QCOMPARE(busy->sinceMs, start + 200'000);
    QCOMPARE(busy->attempts, 130);

    // Ten minutes later they count as the last 50 alone: 20 good ones and these 30.
    const auto quiet = window.wave(project, client, invalidGrant, start + hourMs);
    QVERIFY(quiet.has_value());
    QCOMPARE(quiet->sinceMs, start + 200'000);
    QCOMPARE(quiet->attempts, 50);
}

void TestAttemptWindow::oneAccountIsNoWave()
{
    AttemptWindow window;
    for (int i = 0; i < 100; ++i)
        window.add(attempt(start + i, 1 + static_cast<quint64>(i % 9), OutcomeKind::Revoked, invalidGrant));
    QVERIFY(!window.wave(project, client, invalidGrant, start + 100));
    window.add(attempt(start + 100, 10, OutcomeKind::Revoked, invalidGrant));
    QVERIFY(window.wave(project, client, invalidGrant, start + 100));
}

void TestAttemptWindow::anotherClientIsNoWave()
{
    AttemptWindow window;
    addMany(window, 20, start, 1, OutcomeKind::Revoked, invalidGrant);
    QVERIFY(!window.wave(project, u"mobile"_s, invalidGrant, start + 20));
    QVERIFY(!window.wave(u"other"_s, client, invalidGrant, start + 20));
}

void TestAttemptWindow::otherCodesAreCountedApart()
{
    AttemptWindow window;
    addMany(window, 9, start, 1, OutcomeKind::Revoked, invalidGrant);
    addMany(window, 9, start + 9, 1, OutcomeKind::Account, u"mail_service_not_enabled"_s, 100);
    QVERIFY(!window.wave(project, client, invalidGrant, start + 20));
    QVERIFY(!window.wave(project, client, u"mail_service_not_enabled"_s, start + 20));
}

void TestAttemptWindow::decidedIsForgotten()
{
    AttemptWindow window;
    addMany(window, 20, start, 1, OutcomeKind::Revoked, invalidGrant);
    window.forgetClient(project, client);
    QVERIFY(!window.wave(project, client, invalidGrant, start + 20));
    addMany(window, 20, start + 20, 1, OutcomeKind::Transient);
    window.forgetTransients(project);
    QVERIFY(!window.mostlyTransient(project, start + 40));
}

/// Another engine tells how many went well, and only of failures which accounts they were.
void TestAttemptWindow::countedInBulk()
{
    AttemptWindow window;
    addMany(window, 10, start, 1, OutcomeKind::Revoked, invalidGrant);
    EndedAttempt good = attempt(start + 10, 0);
    good.count = 41;
    window.add(good);
    QVERIFY(!window.wave(project, client, invalidGrant, start + 10));
    // In quiet times a run counts in part: the last 50 are these 41 and 9 of the others.
    QVERIFY(!window.wave(project, client, invalidGrant, start + hourMs));

    AttemptWindow down;
    addMany(down, 10, start, 1, OutcomeKind::Transient, {}, 1);
    for (int i = 0; i < 10; ++i)
        down.add(attempt(start + 10, 1, OutcomeKind::Transient));
    QVERIFY(down.mostlyTransient(project, start + 10));
    good.count = 21;
    down.add(good);
    QVERIFY(!down.mostlyTransient(project, start + 10));
}

void TestAttemptWindow::transient_data()
{
    QTest::addColumn<int>("good");
    QTest::addColumn<int>("bad");
    QTest::addColumn<int>("accounts");
    QTest::addColumn<bool>("expected");

    QTest::newRow("all of 20") << 0 << 20 << 20 << true;
    QTest::newRow("all of 19") << 0 << 19 << 19 << false;
    QTest::newRow("half") << 10 << 10 << 20 << true;
    QTest::newRow("less than half") << 11 << 10 << 21 << false;
    QTest::newRow("nine accounts") << 0 << 40 << 9 << false;
    QTest::newRow("ten accounts") << 0 << 40 << 10 << true;
}

void TestAttemptWindow::transient()
{
    QFETCH(int, good);
    QFETCH(int, bad);
    QFETCH(int, accounts);
    QFETCH(bool, expected);

    AttemptWindow window;
    for (int i = 0; i < good + bad; ++i)
        window.add(attempt(start + i, 1 + static_cast<quint64>(i % accounts),
                           i < good ? OutcomeKind::Renewed : OutcomeKind::Transient));
    QCOMPARE(window.mostlyTransient(project, start + good + bad), expected);
    QVERIFY(!window.mostlyTransient(u"other"_s, start + good + bad));
}

void TestAttemptWindow::transientsPass()
{
    AttemptWindow window;
    addMany(window, 20, start, 1'000, OutcomeKind::Transient);
    QVERIFY(window.mostlyTransient(project, start + 2 * minuteMs - 1));
    QVERIFY(!window.mostlyTransient(project, start + 2 * minuteMs));
}

void TestAttemptWindow::stopping_data()
{
    QTest::addColumn<Outcome>("outcome");
    QTest::addColumn<bool>("stops");
    QTest::addColumn<bool>("says");

    const QString text = u"Text."_s;
    QTest::newRow("revoked") << Outcome::revoked(invalidGrant, text) << true << true;
    QTest::newRow("no mailbox") << Outcome::account(AccountState::Parked, u"mail_service_not_enabled"_s, text)
                                << true << true;
    QTest::newRow("no grant") << Outcome::account(AccountState::NeedsReauth, u"no_grant"_s, text) << false
                              << false;
    QTest::newRow("transient") << Outcome::transient(u"http_503"_s, text) << false << true;
    QTest::newRow("quota") << Outcome::rate(u"rate"_s, text, 0) << false << false;
    QTest::newRow("our own") << Outcome::local(u"sealed"_s, text) << false << false;
    QTest::newRow("configuration") << Outcome::configuration(FaultScope::Client, u"invalid_client"_s, text,
                                                             text)
                                   << false << true;
}

void TestAttemptWindow::stopping()
{
    QFETCH(Outcome, outcome);
    QTEST(stopsAccount(outcome), "stops");
    QTEST(saysSomething(outcome), "says");
}

/// 300 attempts a second for ten minutes, every one of them judged: the decision must not walk through all of them.
void TestAttemptWindow::manyAttemptsAreCheap()
{
    AttemptWindow window;
    int waves = 0;
    QElapsedTimer timer;
    timer.start();
    for (int i = 0; i < 300 * 600; ++i) {
        const bool bad = i % 10 == 0;
        window.add(attempt(start + i * 1'000LL / 300, static_cast<quint64>(i + 1),
                           bad ? OutcomeKind::Revoked : OutcomeKind::Transient,
                           bad ? invalidGrant : QString()));
        waves += window.wave(project, client, invalidGrant, start + i * 1'000LL / 300) ? 1 : 0;
        window.mostlyTransient(project, start + i * 1'000LL / 300);
    }
    QCOMPARE(waves, 0);
    QVERIFY2(timer.elapsed() < 5'000, qPrintable(u"%1 ms"_s.arg(timer.elapsed())));
}

QTEST_APPLESS_MAIN(TestAttemptWindow)
#include "tst_attemptwindow.moc"
