// SPDX-License-Identifier: Apache-2.0
#include "core/planner.h"
#include "store/accountstore.h"
#include "support/testdatabase.h"

#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using core::AccountState;
using store::AccountChange;
using store::AccountRow;
using store::AccountStore;
using store::GrantChange;
using store::PutResult;

namespace {

constexpr qint64 now = 1'800'000'000'000;

AccountChange with(const QString &email, std::optional<qint64> watchExpiresAt = std::nullopt)
{
    AccountChange change;
    change.email = email;
    change.watchExpiresAt = watchExpiresAt;
    change.grant.kind = GrantChange::Kind::Set;
    change.grant.sealedRefreshToken = QByteArray("\0\x01\xff sealed", 10);
    change.grant.keyId = u"k1"_s;
    change.grant.fingerprint = u"f1"_s;
    return change;
}

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

} // namespace

class AccountStoreTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everythingComesBack();
    void putTellsWhatItDid();
    void newAccountNeedsAnAddress();
    void unknownAccounts();
    void refusedRowLeavesNothingAndStopsNobody();
    void failureOfTheDatabaseStoresNone();
    void putAllTakesTheLastOfTwo();
    void compareAndSetSavesOnce();
    void compareAndSetStoresUnknownExpiryAsZero();
    void compareAndSetLosesAgainstAPut();
    void setStateComparesTheGeneration();
    void sealedGrantIsKeptReplacedAndRemoved();
    void purgeTakesOnlyWhatLeaves();
    void purgeLeavesNothingBehind();
    void importIsFast();
};

void AccountStoreTest::everythingComesBack()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    AccountChange change = with(u"kim@example.com"_s, now + core::dayMs);
    change.project = u"second"_s;
    change.client = u"mobile"_s;
    change.language = u"ko"_s;
    change.historyId = u"18446744073709551615"_s;
    const PutResult put = *wait(store.put(u"한 1/é'\"%"_s, change, now));
    database.reopen();
    AccountStore again(database.database());
    const AccountRow row = *wait(again.find(u"한 1/é'\"%"_s));
    QCOMPARE(row.account.email, u"kim@example.com"_s);
    QCOMPARE(row.account.project, u"second"_s);
    QCOMPARE(row.account.client, u"mobile"_s);
    QCOMPARE(row.account.language, u"ko"_s);
    QVERIFY(row.account.grantKind == core::GrantKind::Stored);
    QVERIFY(row.account.hasRefreshToken);
    QCOMPARE(row.account.createdAt, now);
    QCOMPARE(row.subscriptions.size(), 1);
    QCOMPARE(row.subscriptions[0].id, u"한 1/é'\"%/gmail"_s);
    QCOMPARE(row.subscriptions[0].expiresAt, now + core::dayMs);
    QCOMPARE(row.subscriptions[0].data.value(u"history_id"_s).toString(), u"18446744073709551615"_s);
    QCOMPARE(row.subscriptions[0].dueAt, put.row.subscriptions[0].dueAt);
    QCOMPARE(row.subscriptions[0].generation, put.row.subscriptions[0].generation);
}

void AccountStoreTest::putTellsWhatItDid()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    const AccountChange change = with(u"kim@example.com"_s);
    const PutResult first = *wait(store.put(u"a1"_s, change, now));
    QVERIFY(first.created && first.changed);
    const PutResult again = *wait(store.put(u"a1"_s, change, now + 1));
    QVERIFY(!again.created && !again.changed);
    QCOMPARE(again.row.account.updatedAt, now);
    AccountChange language;
    language.language = u"ko"_s;
    const PutResult third = *wait(store.put(u"a1"_s, language, now + 2));
    QVERIFY(!third.created && third.changed);
    QCOMPARE(third.row.account.email, u"kim@example.com"_s);
    QCOMPARE(third.row.account.generation, first.row.account.generation + 1);
    QVERIFY(third.row.account.hasRefreshToken);
}

void AccountStoreTest::newAccountNeedsAnAddress()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    AccountChange change;
    change.language = u"ko"_s;
    const auto put = wait(store.put(u"a1"_s, change, now));
    QVERIFY(!put.has_value());
    QCOMPARE(put.error().code, u"invalid_request"_s);
    QCOMPARE(put.error().details.value(u"field"_s).toString(), u"email"_s);
    QCOMPARE(database.sql(u"SELECT COUNT(*) FROM accounts"_s).toInt(), 0);
}

void AccountStoreTest::unknownAccounts()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    const auto notFound = u"not_found"_s;
    QCOMPARE(wait(store.find(u"nobody@example.com"_s)).error().code, notFound);
    QVERIFY(!wait(store.find(u"nobody@example.com"_s)).error().text.contains(u'@'));
    QCOMPARE(wait(store.patch(u"a1"_s, {}, now)).error().code, notFound);
    QCOMPARE(wait(store.purge(u"a1"_s)).error().code, notFound);
    QCOMPARE(wait(store.subscription(u"a1/gmail"_s)).error().code, notFound);
    QCOMPARE(wait(store.sealedGrant(u"a1"_s)).error().code, notFound);
    QCOMPARE(wait(store.setState(u"a1"_s, AccountState::Paused, {}, 0, now)).error().code, notFound);
    core::Subscription subscription;
    subscription.id = u"a1/gmail"_s;
    subscription.account = u"a1"_s;
    QCOMPARE(wait(store.compareAndSet(subscription)).error().code, notFound);
}

void AccountStoreTest::refusedRowLeavesNothingAndStopsNobody()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    const auto results = *wait(store.putAll({{u"a1"_s, with(u"kim@example.com"_s)},
                                             {u"a2"_s, AccountChange()},
                                             {u"a3"_s, with(u"lee@example.com"_s)}},
                                            now));
    QVERIFY(results[0].has_value() && !results[1].has_value() && results[2].has_value());
    QCOMPARE(results[1].error().details.value(u"field"_s).toString(), u"email"_s);
    for (const QString &table : {u"accounts"_s, u"grants"_s, u"subscriptions"_s})
        QCOMPARE(database.sql(u"SELECT COUNT(*) FROM "_s + table).toInt(), 2);
}

// The second grant cannot be written: the rows before it must not stay either.
void AccountStoreTest::failureOfTheDatabaseStoresNone()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    database.sql(u"CREATE UNIQUE INDEX once ON grants (key_id)"_s);
    const auto results = wait(
        store.putAll({{u"a1"_s, with(u"kim@example.com"_s)}, {u"a2"_s, with(u"lee@example.com"_s)}}, now));
    QVERIFY(!results.has_value());
    QCOMPARE(results.error().code, u"database_unavailable"_s);
    QVERIFY(!results.error().text.contains(u'@'));
    QCOMPARE(database.sql(u"SELECT COUNT(*) FROM accounts"_s).toInt(), 0);
}

void AccountStoreTest::putAllTakesTheLastOfTwo()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    const auto result = *wait(
        store.putAll({{u"a1"_s, with(u"kim@example.com"_s)}, {u"a1"_s, with(u"lee@example.com"_s)}}, now));
    QVERIFY(result[0]->created && !result[1]->created);
    QCOMPARE(wait(store.find(u"a1"_s))->account.email, u"lee@example.com"_s);
}

void AccountStoreTest::compareAndSetSavesOnce()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    QVERIFY(wait(store.put(u"a1"_s, with(u"kim@example.com"_s), now)).has_value());
    core::Subscription subscription = *wait(store.subscription(u"a1/gmail"_s));
    subscription.expiresAt = now + 7 * core::dayMs;
    subscription.lastSuccessAt = now;
    subscription.nextTargetAt = now + core::dayMs;
    subscription.nextAttemptAt = now + core::hourMs;
    subscription.attempts = 3;
    subscription.errorText = u"a sentence"_s;
    subscription.data = {{u"history_id"_s, u"7"_s}};
    const core::Subscription saved = *wait(store.compareAndSet(subscription));
    QCOMPARE(saved.generation, subscription.generation + 1);
    QCOMPARE(saved.dueAt, now + core::dayMs);

    const core::Subscription read = *wait(store.subscription(u"a1/gmail"_s));
    QCOMPARE(read.expiresAt, subscription.expiresAt);
    QCOMPARE(read.lastSuccessAt, now);
    QCOMPARE(read.attempts, 3);
    QCOMPARE(read.errorText, u"a sentence"_s);
    QCOMPARE(read.data, subscription.data);
    QCOMPARE(read.dueAt, saved.dueAt);
    QCOMPARE(read.generation, saved.generation);
    QCOMPARE(database.sql(u"SELECT nearest_expires_at FROM accounts"_s).toLongLong(), subscription.expiresAt);

    subscription.attempts = 99;
    const auto second = wait(store.compareAndSet(subscription));
    QVERIFY(!second.has_value());
    QCOMPARE(second.error().code, u"conflict"_s);
    QCOMPARE(wait(store.subscription(u"a1/gmail"_s))->attempts, 3);
}

void AccountStoreTest::compareAndSetStoresUnknownExpiryAsZero()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    QVERIFY(wait(store.put(u"a1"_s, with(u"kim@example.com"_s, now + 6 * core::dayMs), now)).has_value());
    core::Subscription subscription = *wait(store.subscription(u"a1/gmail"_s));
    subscription.expiresAt = -1;
    QCOMPARE(wait(store.compareAndSet(subscription))->expiresAt, qint64(0));
    QCOMPARE(wait(store.subscription(u"a1/gmail"_s))->expiresAt, qint64(0));
    QCOMPARE(wait(store.due(now, 10))->size(), 1);
}

void AccountStoreTest::compareAndSetLosesAgainstAPut()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    QVERIFY(wait(store.put(u"a1"_s, with(u"kim@example.com"_s), now)).has_value());
    core::Subscription renewed = *wait(store.subscription(u"a1/gmail"_s));
    AccountChange change;
    change.email = u"lee@example.com"_s;
    QVERIFY(wait(store.put(u"a1"_s, change, now + 1)).has_value());
    renewed.expiresAt = now + 7 * core::dayMs; // of the old mailbox
    QCOMPARE(wait(store.compareAndSet(renewed)).error().code, u"conflict"_s);
    QCOMPARE(wait(store.subscription(u"a1/gmail"_s))->expiresAt, qint64(0));
}

void AccountStoreTest::setStateComparesTheGeneration()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    const qint64 generation =
        wait(store.put(u"a1"_s, with(u"kim@example.com"_s), now))->row.account.generation;
    QVERIFY(wait(store.setState(u"a1"_s, AccountState::Parked, u"access_denied"_s, generation, now + 5))
                .has_value());
    const AccountRow row = *wait(store.find(u"a1"_s));
    QVERIFY(row.account.state == AccountState::Parked);
    QCOMPARE(row.account.stateReason, u"access_denied"_s);
    QCOMPARE(row.account.updatedAt, now + 5);
    QVERIFY(wait(store.due(now, 10))->isEmpty());
    const auto stale = wait(store.setState(u"a1"_s, AccountState::Active, {}, generation, now + 6));
    QCOMPARE(stale.error().code, u"conflict"_s);
    QVERIFY(wait(store.setState(u"a1"_s, AccountState::Active, {}, generation + 1, now + 6)).has_value());
    QCOMPARE(wait(store.due(now, 10))->size(), 1);
}

void AccountStoreTest::sealedGrantIsKeptReplacedAndRemoved()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    AccountChange change = with(u"kim@example.com"_s);
    QVERIFY(wait(store.put(u"a1"_s, change, now)).has_value());
    const GrantChange grant = *wait(store.sealedGrant(u"a1"_s));
    QCOMPARE(grant.sealedRefreshToken, change.grant.sealedRefreshToken);
    QCOMPARE(grant.keyId, u"k1"_s);
    QCOMPARE(grant.fingerprint, u"f1"_s);

    change.grant.sealedRefreshToken = "second";
    change.grant.fingerprint = u"f2"_s;
    QVERIFY(wait(store.put(u"a1"_s, change, now)).has_value());
    QCOMPARE(wait(store.sealedGrant(u"a1"_s))->sealedRefreshToken, QByteArray("second"));
    change.grant = {};
    QVERIFY(wait(store.put(u"a1"_s, change, now)).has_value());
    QCOMPARE(wait(store.sealedGrant(u"a1"_s))->sealedRefreshToken, QByteArray("second"));

    change.grant.kind = GrantChange::Kind::Set;
    change.grant.grantKind = core::GrantKind::Http;
    change.grant.grant = {{u"token_url"_s, u"https://tokens.example/"_s}};
    const PutResult http = *wait(store.put(u"a1"_s, change, now));
    QVERIFY(!http.row.account.hasRefreshToken);
    QCOMPARE(wait(store.sealedGrant(u"a1"_s)).error().code, u"not_found"_s);
    QCOMPARE(wait(store.find(u"a1"_s))->account.grant, change.grant.grant);
}

void AccountStoreTest::purgeTakesOnlyWhatLeaves()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    QVERIFY(wait(store.put(u"a1"_s, with(u"kim@example.com"_s), now)).has_value());
    QCOMPARE(wait(store.purge(u"a1"_s)).error().code, u"conflict"_s);
    AccountChange leave;
    leave.state = AccountState::Leaving;
    QVERIFY(wait(store.patch(u"a1"_s, leave, now)).has_value());
    QVERIFY(wait(store.due(now, 10))->isEmpty());
    // It comes back before its watch was stopped: the purge must not take it.
    QVERIFY(wait(store.put(u"a1"_s, {}, now)).has_value());
    QCOMPARE(wait(store.purge(u"a1"_s)).error().code, u"conflict"_s);
    QVERIFY(wait(store.find(u"a1"_s)).has_value());
}

void AccountStoreTest::purgeLeavesNothingBehind()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    QVERIFY(wait(store.put(u"a1"_s, with(u"kim@example.com"_s), now)).has_value());
    QVERIFY(wait(store.put(u"a2"_s, with(u"lee@example.com"_s), now)).has_value());
    AccountChange leave;
    leave.state = AccountState::Leaving;
    QVERIFY(wait(store.patch(u"a1"_s, leave, now)).has_value());
    QVERIFY(wait(store.purge(u"a1"_s)).has_value());
    QCOMPARE(wait(store.find(u"a1"_s)).error().code, u"not_found"_s);
    for (const QString &table : {u"accounts"_s, u"grants"_s, u"subscriptions"_s})
        QCOMPARE(database.sql(u"SELECT COUNT(*) FROM "_s + table).toInt(), 1);
    QVERIFY(wait(store.put(u"a1"_s, with(u"kim@example.com"_s), now))->created);
}

void AccountStoreTest::importIsFast()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    constexpr int batches = 10;
    constexpr int perBatch = 1'000;
    QElapsedTimer timer;
    timer.start();
    for (int batch = 0; batch < batches; ++batch) {
        QList<std::pair<QString, AccountChange>> rows;
        for (int i = 0; i < perBatch; ++i) {
            const QString id = u"account-%1"_s.arg(batch * perBatch + i);
            rows.append({id, with(id + u"@example.com"_s, now + 6 * core::dayMs)});
        }
        QVERIFY(wait(store.putAll(rows, now)).has_value());
    }
    qInfo("%d accounts in %lld ms", batches * perBatch, timer.elapsed());
    QCOMPARE(database.sql(u"SELECT COUNT(*) FROM subscriptions"_s).toInt(), batches * perBatch);
    QVERIFY2(timer.elapsed() < 20'000, "an import of this size takes a second, not minutes");
}

QTEST_GUILESS_MAIN(AccountStoreTest)
#include "tst_accountstore.moc"
