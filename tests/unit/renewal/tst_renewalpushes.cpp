// SPDX-License-Identifier: Apache-2.0
// Pushes as the proof that watches deliver: what engines on one database see, tell and repair.
#include "core/planner.h"
#include "renewal/pushproof.h"
#include "store/accountstore.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using renewal::PushProof;

namespace {

constexpr qint64 minute = 60'000;

template<typename T>
T wait(QCoro::Task<T> task)
{
    return QCoro::waitFor(std::move(task));
}

/// One of several engines; what it told and whom it repaired.
struct Engine {
    Engine(store::Database &database, const Clock &clock)
        : store(database),
          proof(
              store, clock, core::PushLimits(),
              [this](const QString &type, const QJsonObject &event) {
                  events.append(type + event["account"_L1].toString());
              },
              [this](QString, QString subscription) { return repair(std::move(subscription)); })
    { }

    QCoro::Task<Result<>> repair(QString subscription)
    {
        repaired.append(subscription);
        co_return Result<>();
    }

    void look() { QCoro::waitFor(proof.look()); }

    store::PushStore store;
    QStringList events;
    QStringList repaired;
    PushProof proof;
};

} // namespace

class TestRenewalPushes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void offUntilTheFirstPush();
    void provenUnprovenSilent();
    void aBrokenPathIsToldOnceAndHeals();
    void quietMailboxesBreakNothing();
    void oneRepairThenOnePerson();
    void noRepairWhileThePathIsBroken();
    void reportsWaitForOneWrite();
    void aFailedWriteIsNoProof();
    void looksByItself();

private:
    void renewed(const QString &id);
    void push(const QString &id, Engine &engine);
    QJsonObject status() { return m_one->proof.status(); }

    test::FakeClock m_clock;
    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<Engine> m_one;
    std::unique_ptr<Engine> m_two;
};

void TestRenewalPushes::init()
{
    m_one.reset();
    m_two.reset();
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    for (const QString &id : {u"a"_s, u"b"_s, u"c"_s}) {
        store::AccountChange change;
        change.email = id + u"@example.com"_s;
        change.watchExpiresAt = m_clock.nowMs() + 7 * core::dayMs;
        QVERIFY(wait(m_accounts->put(id, change, m_clock.nowMs())).has_value());
    }
    m_one = std::make_unique<Engine>(m_database->database(), m_clock);
    m_two = std::make_unique<Engine>(m_database->database(), m_clock);
}

void TestRenewalPushes::renewed(const QString &id)
{
    core::Subscription subscription = *wait(m_accounts->subscription(id + u"/gmail"_s));
    subscription.lastSuccessAt = m_clock.nowMs();
    QVERIFY(wait(m_accounts->compareAndSet(subscription)).has_value());
}

void TestRenewalPushes::push(const QString &id, Engine &engine)
{
    const auto nobody = wait(engine.proof.report({{id + u"@example.com"_s, u"7"_s}}));
    QVERIFY(nobody && nobody->isEmpty());
}

void TestRenewalPushes::offUntilTheFirstPush()
{
    renewed(u"a"_s);
    m_clock.advance(60 * minute);
    m_one->look();
    QCOMPARE(status()["on"_L1].toBool(), false);
    QCOMPARE(status()["path_broken"_L1].toBool(), false);
    QVERIFY(m_one->events.isEmpty());
    QVERIFY(m_one->repaired.isEmpty());
}

void TestRenewalPushes::provenUnprovenSilent()
{
    push(u"a"_s, *m_two); // at whatever engine
    m_clock.advance(minute);
    for (const QString &id : {u"a"_s, u"b"_s, u"c"_s})
        renewed(id);
    push(u"a"_s, *m_two);
    m_one->look();
    QCOMPARE(status()["on"_L1].toBool(), true);
    QCOMPARE(status()["proven"_L1].toInt(), 1);
    QCOMPARE(status()["unproven"_L1].toInt(), 2);
    m_clock.advance(2 * minute);
    push(u"b"_s, *m_two);
    m_clock.advance(1);
    m_one->look();
    QCOMPARE(status()["proven"_L1].toInt(), 2);
    QCOMPARE(status()["unproven"_L1].toInt(), 0);
    QCOMPARE(status()["silent"_L1].toInt(), 1);
    QCOMPARE(status()["text"_L1].toString(), u"2 of 3 watches are proven to deliver, 1 are silent."_s);
}

void TestRenewalPushes::aBrokenPathIsToldOnceAndHeals()
{
    push(u"a"_s, *m_one);
    m_clock.advance(minute);
    renewed(u"a"_s);
    renewed(u"b"_s);
    m_clock.advance(10 * minute - 1);
    m_one->look();
    QCOMPARE(status()["path_broken"_L1].toBool(), false);
    m_clock.advance(1);
    const qint64 since = m_clock.nowMs();
    m_one->look();
    m_two->look();
    m_clock.advance(minute);
    m_one->look();
    QCOMPARE(status()["path_broken"_L1].toBool(), true);
    QCOMPARE(status()["since"_L1].toInteger(), since);
    QVERIFY(status()["text"_L1].toString().contains(u"topic"_s));
    QCOMPARE(m_one->events + m_two->events, QStringList{u"push.path_broken"_s});

    push(u"b"_s, *m_one);
    m_two->look();
    m_one->look();
    QCOMPARE(status()["path_broken"_L1].toBool(), false);
    QCOMPARE(status()["since"_L1].toInteger(), 0);
    QCOMPARE(m_two->events, QStringList{u"push.path_recovered"_s});
    QCOMPARE(m_one->events, QStringList{u"push.path_broken"_s});
}

// No mail is no fault: only a renewal owes a push.
void TestRenewalPushes::quietMailboxesBreakNothing()
{
    for (const QString &id : {u"a"_s, u"b"_s, u"c"_s}) {
        renewed(id);
        push(id, *m_one);
    }
    m_clock.advance(core::dayMs);
    m_one->look();
    QCOMPARE(status()["proven"_L1].toInt(), 3);
    QCOMPARE(status()["path_broken"_L1].toBool(), false);
    QVERIFY(m_one->events.isEmpty());
}

// Renewed, and no push comes while others get theirs: Nine-Minds/alga-psa#859.
void TestRenewalPushes::oneRepairThenOnePerson()
{
    push(u"a"_s, *m_one);
    m_clock.advance(minute);
    renewed(u"a"_s);
    renewed(u"b"_s);
    push(u"a"_s, *m_one);
    for (int looks = 0; looks < 5; ++looks) {
        m_clock.advance(minute);
        m_one->look();
        m_two->look();
    }
    QCOMPARE(m_one->repaired + m_two->repaired, QStringList{u"b/gmail"_s});
    QVERIFY((m_one->events + m_two->events).isEmpty());

    renewed(u"b"_s); // the repair succeeded, and in vain
    for (int looks = 0; looks < 5; ++looks) {
        m_clock.advance(minute);
        push(u"a"_s, *m_one);
        m_two->look();
        m_one->look();
    }
    QCOMPARE((m_one->repaired + m_two->repaired).size(), 1);
    QCOMPARE(m_one->events + m_two->events, QStringList{u"push.silentb"_s});
}

void TestRenewalPushes::noRepairWhileThePathIsBroken()
{
    push(u"a"_s, *m_one);
    m_clock.advance(minute);
    for (const QString &id : {u"a"_s, u"b"_s, u"c"_s})
        renewed(id);
    for (int looks = 0; looks < 20; ++looks) {
        m_clock.advance(minute);
        m_one->look();
    }
    QCOMPARE(m_one->events, QStringList{u"push.path_broken"_s});
    QVERIFY(m_one->repaired.isEmpty());
}

// Each report is answered with who of its own mailboxes is unknown, and stored by then.
void TestRenewalPushes::reportsWaitForOneWrite()
{
    std::vector<QCoro::Task<Result<QSet<QString>>>> reports;
    for (int i = 0; i < 50; ++i) {
        reports.push_back(m_one->proof.report({{u"a@example.com"_s, QString::number(100 + i)}}));
        reports.push_back(m_one->proof.report({{u"nobody%1@example.com"_s.arg(i), u"1"_s}}));
    }
    for (QCoro::Task<Result<QSet<QString>>> &report : reports)
        QVERIFY(QCoro::waitFor(report).has_value());
    QCOMPARE(m_database->sql(u"SELECT history_id FROM pushes WHERE account = 'a'"_s).toString(), u"149"_s);
    // The first goes at once, all that came meanwhile together.
    QCOMPARE(m_one->proof.writes(), 2);
}

// What could not be stored is not acknowledged, so that it is sent again: xorbitsai/xagent#704.
void TestRenewalPushes::aFailedWriteIsNoProof()
{
    m_database->sql(u"ALTER TABLE pushes RENAME TO elsewhere"_s);
    const auto refused = wait(m_one->proof.report({{u"a@example.com"_s, u"1"_s}}));
    QVERIFY(!refused);
    m_database->sql(u"ALTER TABLE elsewhere RENAME TO pushes"_s);
    push(u"a"_s, *m_one);
    m_one->look();
    QCOMPARE(status()["on"_L1].toBool(), true);
}

void TestRenewalPushes::looksByItself()
{
    push(u"a"_s, *m_two);
    QCOMPARE(status()["on"_L1].toBool(), false);
    m_one->proof.start();
    QTRY_COMPARE(status()["on"_L1].toBool(), true);
    m_one->proof.stop();
}

QTEST_GUILESS_MAIN(TestRenewalPushes)
#include "tst_renewalpushes.moc"
