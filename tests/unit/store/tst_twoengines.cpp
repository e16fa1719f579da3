// SPDX-License-Identifier: Apache-2.0
// Several engines on one database: nobody's write is lost, nobody waits in a circle.
#include "store/accountstore.h"
#include "store/grantstore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using store::AccountChange;
using store::AccountStore;
using store::Database;
using store::GrantChange;
using store::GrantStore;

namespace {

constexpr qint64 now = 1'800'000'000'000;

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

GrantChange token(const QString &name)
{
    GrantChange grant;
    grant.kind = GrantChange::Kind::Set;
    grant.sealedRefreshToken = name.toUtf8();
    grant.keyId = u"key"_s;
    grant.fingerprint = name;
    return grant;
}

AccountChange mailbox(int i)
{
    AccountChange change;
    change.email = u"user%1@example.com"_s.arg(i);
    change.grant = token(u"token"_s);
    return change;
}

/// One more engine: its own connection on its own thread.
struct Engine {
    explicit Engine(const QString &url) : database(url), accounts(database), grants(database) { }
    Database database;
    AccountStore accounts;
    GrantStore grants;
};

// Counts one attempt, as a renewal does: read, change, compare and set, from the start when somebody was quicker.
QCoro::Task<int> countAttempts(AccountStore &accounts, QString subscription, int times)
{
    int conflicts = 0;
    for (int done = 0; done < times;) {
        Result<core::Subscription> row = co_await accounts.subscription(subscription);
        if (!row)
            co_return -1;
        ++row->attempts;
        core::Subscription wanted = *row;
        const Result<core::Subscription> saved = co_await accounts.compareAndSet(std::move(wanted));
        if (saved)
            ++done;
        else if (saved.error().code == "conflict"_L1)
            ++conflicts;
        else
            co_return -1;
    }
    co_return conflicts;
}

} // namespace

class TwoEnginesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void importsOfTheSameAccounts();
    void noAttemptIsLost();
    void oneLossOfTheGrantCounts();
    void oneRotationWins();

private:
    std::unique_ptr<test::TestDatabase> m_scene;
    std::vector<std::unique_ptr<Engine>> m_engines;
};

void TwoEnginesTest::init()
{
    m_engines.clear();
    m_scene = std::make_unique<test::TestDatabase>();
    for (int i = 0; i < 3; ++i) {
        m_engines.push_back(std::make_unique<Engine>(m_scene->url()));
        QVERIFY(wait(m_engines.back()->database.open()));
    }
}

// In opposite orders, so that without an order of our own they would wait for each other in a circle.
void TwoEnginesTest::importsOfTheSameAccounts()
{
    constexpr int count = 200;
    QList<std::pair<QString, AccountChange>> forth;
    for (int i = 0; i < count; ++i)
        forth.append({u"account%1"_s.arg(i), mailbox(i)});
    const QList<std::pair<QString, AccountChange>> back(forth.rbegin(), forth.rend());
    std::vector<QCoro::Task<Result<QList<Result<store::PutResult>>>>> imports;
    for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < m_engines.size(); ++i)
            imports.push_back(m_engines[i]->accounts.putAll(i % 2 == 0 ? forth : back, now));
    }
    int created = 0;
    for (auto &import : imports) {
        const auto results = QCoro::waitFor(import);
        QVERIFY2(results.has_value(), results ? "" : qPrintable(results.error().text));
        for (const Result<store::PutResult> &result : *results) {
            QVERIFY2(result.has_value(), result ? "" : qPrintable(result.error().text));
            created += result->created ? 1 : 0;
        }
    }
    QCOMPARE(created, count);
    QCOMPARE(m_scene->sql(u"SELECT COUNT(*) FROM subscriptions"_s).toInt(), count);
}

void TwoEnginesTest::noAttemptIsLost()
{
    QVERIFY(wait(m_engines[0]->accounts.put(u"a"_s, mailbox(1), now)));
    constexpr int times = 50;
    std::vector<QCoro::Task<int>> counting;
    for (const auto &engine : m_engines)
        counting.push_back(countAttempts(engine->accounts, u"a/gmail"_s, times));
    for (auto &task : counting)
        QVERIFY(QCoro::waitFor(task) >= 0);
    const auto row = wait(m_engines[0]->accounts.subscription(u"a/gmail"_s));
    QCOMPARE(row->attempts, times * int(m_engines.size()));
    QCOMPARE(row->generation, times * qint64(m_engines.size()));
}

void TwoEnginesTest::oneLossOfTheGrantCounts()
{
    const auto put = wait(m_engines[0]->accounts.put(u"a"_s, mailbox(1), now));
    std::vector<QCoro::Task<Result<>>> losses;
    for (const auto &engine : m_engines)
        losses.push_back(engine->grants.retire(u"a"_s, u"invalid_grant"_s, put->row.account.generation, now));
    int counted = 0;
    for (auto &loss : losses)
        counted += QCoro::waitFor(loss) ? 1 : 0;
    QCOMPARE(counted, 1);
    std::vector<QCoro::Task<Result<>>> ways;
    for (const auto &engine : m_engines)
        ways.push_back(engine->grants.restore(u"a"_s, now + 1));
    for (auto &way : ways)
        static_cast<void>(QCoro::waitFor(way));
    const auto row = wait(m_engines[0]->accounts.find(u"a"_s));
    QVERIFY(row->account.hasRefreshToken);
    QVERIFY(row->account.state == core::AccountState::Active);
}

void TwoEnginesTest::oneRotationWins()
{
    QVERIFY(wait(m_engines[0]->accounts.put(u"a"_s, mailbox(1), now)));
    std::vector<QCoro::Task<Result<>>> rotations;
    for (size_t i = 0; i < m_engines.size(); ++i)
        rotations.push_back(m_engines[i]->grants.rotate(u"a"_s, u"token"_s, token(u"new%1"_s.arg(i)), now));
    QStringList won;
    for (size_t i = 0; i < rotations.size(); ++i) {
        if (QCoro::waitFor(rotations[i]))
            won.append(u"new%1"_s.arg(i));
    }
    QCOMPARE(won.size(), 1);
    QCOMPARE(wait(m_engines[0]->accounts.sealedGrant(u"a"_s))->fingerprint, won.first());
}

QTEST_GUILESS_MAIN(TwoEnginesTest)
#include "tst_twoengines.moc"
