// SPDX-License-Identifier: Apache-2.0
#include "core/planner.h"
#include "store/accountchange.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using core::AccountState;
using core::GrantKind;
using store::AccountChange;
using store::AccountRow;
using store::Changed;
using store::GrantChange;

namespace {

constexpr qint64 now = 1'800'000'000'000;

GrantChange token(const QString &fingerprint)
{
    GrantChange grant;
    grant.kind = GrantChange::Kind::Set;
    grant.sealedRefreshToken = "sealed " + fingerprint.toLatin1();
    grant.fingerprint = fingerprint;
    return grant;
}

GrantChange removal(GrantKind kind)
{
    GrantChange grant;
    grant.kind = GrantChange::Kind::Remove;
    grant.grantKind = kind;
    return grant;
}

// An account of last week in the given state: token "t1", five days left, two failures behind it.
AccountRow established(AccountState state = AccountState::Active)
{
    AccountChange change;
    change.email = u"kim@example.com"_s;
    change.watchExpiresAt = now + 5 * core::dayMs;
    change.historyId = u"100"_s;
    change.grant = token(u"t1"_s);
    AccountRow row = store::created(u"a1"_s, change, now - 7 * core::dayMs)->row;
    row.account.state = state;
    row.account.stateReason = state == AccountState::Active ? QString() : u"because"_s;
    core::Subscription &gmail = row.subscriptions[0];
    gmail.lastSuccessAt = now - 2 * core::dayMs;
    gmail.nextTargetAt = now + core::hourMs;
    gmail.nextAttemptAt = now + 4 * core::hourMs;
    gmail.attempts = 2;
    gmail.errorClass = u"transient"_s;
    gmail.errorCode = u"503"_s;
    return row;
}

const core::Subscription &gmail(const Changed &changed)
{
    return *store::gmailSubscription(changed.row);
}

} // namespace

class AccountChangeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void newAccountsFirstTarget_data();
    void newAccountsFirstTarget();
    void nothingGivenNothingChanged();
    void sameValuesAgainChangeNothing();
    void newTokenMakesActiveAndDue_data();
    void newTokenMakesActiveAndDue();
    void sameTokenChangesNothing_data();
    void sameTokenChangesNothing();
    void retiredTokenSentAgainIsNew();
    void removingTheGrant_data();
    void removingTheGrant();
    void otherMailboxForgetsTheWatch();
    void otherProjectForgetsTheWatchButNotTheCursor();
    void givenExpiryIsPlannedAnew();
    void historyIdIsKeptSetOrForgotten();
    void labelFilterIsKeptSetOrForgotten();
    void anotherFilterMakesALiveWatchDue();
    void stateChanges_data();
    void stateChanges();
    void putCallsBackALeavingAccount();
    void newOnesMayBeginPaused();
};

void AccountChangeTest::newAccountsFirstTarget_data()
{
    QTest::addColumn<std::optional<qint64>>("watchExpiresAt");
    QTest::addColumn<bool>("dueNow");
    using Given = std::optional<qint64>;
    QTest::newRow("none given") << Given() << true;
    QTest::newRow("0") << Given(0) << true;
    QTest::newRow("-1") << Given(-1) << true;
    QTest::newRow("past") << Given(now - 1) << true;
    QTest::newRow("1 h left") << Given(now + core::hourMs) << true;
    QTest::newRow("24 h left") << Given(now + core::dayMs) << true;
    QTest::newRow("6 d left") << Given(now + 6 * core::dayMs) << false;
}

void AccountChangeTest::newAccountsFirstTarget()
{
    QFETCH(std::optional<qint64>, watchExpiresAt);
    QFETCH(bool, dueNow);
    AccountChange change;
    change.email = u"kim@example.com"_s;
    change.watchExpiresAt = watchExpiresAt;
    change.grant = token(u"t1"_s);
    const Changed changed = *store::created(u"a1"_s, change, now);
    QCOMPARE(gmail(changed).id, u"a1/gmail"_s);
    QCOMPARE(gmail(changed).expiresAt, qMax<qint64>(0, watchExpiresAt.value_or(0)));
    QCOMPARE(gmail(changed).nextTargetAt <= now, dueNow);
    QVERIFY(gmail(changed).nextTargetAt <= now + core::dayMs);
    QVERIFY(changed.account && changed.subscriptions && changed.grant);
    QVERIFY(changed.row.account.state == AccountState::Active);
    QVERIFY(changed.row.account.hasRefreshToken);
    QCOMPARE(changed.row.account.createdAt, now);
}

void AccountChangeTest::nothingGivenNothingChanged()
{
    const Changed changed = *store::put(established(), {}, now);
    QVERIFY(!changed.account && !changed.subscriptions && !changed.grant);
}

void AccountChangeTest::sameValuesAgainChangeNothing()
{
    AccountChange change;
    change.email = u"kim@example.com"_s;
    change.project = u"default"_s;
    change.watchExpiresAt = now + 5 * core::dayMs;
    change.historyId = u"100"_s;
    change.grant = token(u"t1"_s);
    const Changed changed = *store::put(established(), change, now);
    QVERIFY(!changed.account && !changed.subscriptions && !changed.grant);
}

void AccountChangeTest::newTokenMakesActiveAndDue_data()
{
    QTest::addColumn<AccountState>("before");
    QTest::newRow("active") << AccountState::Active;
    QTest::newRow("paused") << AccountState::Paused;
    QTest::newRow("needs_reauth") << AccountState::NeedsReauth;
    QTest::newRow("parked") << AccountState::Parked;
}

void AccountChangeTest::newTokenMakesActiveAndDue()
{
    QFETCH(AccountState, before);
    AccountChange change;
    change.grant = token(u"t2"_s);
    for (const auto way : {&store::put, &store::patched}) {
        const Changed changed = *way(established(before), change, now);
        QVERIFY(changed.row.account.state == AccountState::Active);
        QVERIFY(changed.row.account.stateReason.isEmpty());
        QVERIFY(changed.grant);
        QCOMPARE(gmail(changed).nextTargetAt, now);
        QCOMPARE(gmail(changed).nextAttemptAt, qint64(0));
        QCOMPARE(gmail(changed).attempts, 0);
        QVERIFY(gmail(changed).errorClass.isEmpty());
        QCOMPARE(gmail(changed).expiresAt, now + 5 * core::dayMs);
    }
}

void AccountChangeTest::sameTokenChangesNothing_data()
{
    newTokenMakesActiveAndDue_data();
}

// A nightly import must not undo a pause, nor make every account due at once.
void AccountChangeTest::sameTokenChangesNothing()
{
    QFETCH(AccountState, before);
    AccountChange change;
    change.grant = token(u"t1"_s);
    const Changed changed = *store::put(established(before), change, now);
    QVERIFY(changed.row.account.state == before);
    QVERIFY(!changed.account && !changed.subscriptions && !changed.grant);
}

void AccountChangeTest::retiredTokenSentAgainIsNew()
{
    AccountRow before = established(AccountState::NeedsReauth);
    before.account.hasRefreshToken = false; // what a retired token looks like
    before.grantFingerprint.clear();
    AccountChange change;
    change.grant = token(u"t1"_s);
    const Changed changed = *store::put(before, change, now);
    QVERIFY(changed.row.account.state == AccountState::Active);
    QVERIFY(changed.row.account.hasRefreshToken);
}

void AccountChangeTest::removingTheGrant_data()
{
    QTest::addColumn<GrantKind>("before");
    QTest::addColumn<GrantKind>("remove");
    QTest::addColumn<GrantKind>("after");
    QTest::newRow("stored token") << GrantKind::Stored << GrantKind::Stored << GrantKind::None;
    QTest::newRow("no stored token to remove") << GrantKind::Http << GrantKind::Stored << GrantKind::Http;
    QTest::newRow("whatever there is: stored") << GrantKind::Stored << GrantKind::None << GrantKind::None;
    QTest::newRow("whatever there is: http") << GrantKind::Http << GrantKind::None << GrantKind::None;
    QTest::newRow("nothing there") << GrantKind::None << GrantKind::None << GrantKind::None;
}

void AccountChangeTest::removingTheGrant()
{
    QFETCH(GrantKind, before);
    QFETCH(GrantKind, remove);
    QFETCH(GrantKind, after);
    AccountRow row = established();
    row.account.grantKind = before;
    row.account.hasRefreshToken = before == GrantKind::Stored;
    if (before != GrantKind::Stored)
        row.grantFingerprint.clear();
    if (before == GrantKind::Http)
        row.account.grant = {{u"token_url"_s, u"https://tokens.example/"_s}};
    AccountChange change;
    change.grant = removal(remove);
    const Changed changed = *store::put(row, change, now);
    QVERIFY(changed.row.account.grantKind == after);
    QCOMPARE(changed.grant, before != after);
    QVERIFY(!changed.row.account.hasRefreshToken);
    QVERIFY(!changed.subscriptions);
    if (after == GrantKind::None)
        QVERIFY(changed.row.account.grant.isEmpty());
}

void AccountChangeTest::otherMailboxForgetsTheWatch()
{
    AccountChange change;
    change.email = u"lee@example.com"_s;
    const Changed changed = *store::put(established(), change, now);
    QCOMPARE(gmail(changed).expiresAt, qint64(0));
    QCOMPARE(gmail(changed).lastSuccessAt, qint64(0));
    QCOMPARE(gmail(changed).nextTargetAt, now);
    QVERIFY(!gmail(changed).data.contains(u"history_id"_s));
    QVERIFY(changed.subscriptions);
}

void AccountChangeTest::otherProjectForgetsTheWatchButNotTheCursor()
{
    AccountChange change;
    change.project = u"second"_s;
    const Changed changed = *store::put(established(), change, now);
    QCOMPARE(gmail(changed).expiresAt, qint64(0));
    QCOMPARE(gmail(changed).nextTargetAt, now);
    QCOMPARE(gmail(changed).data.value(u"history_id"_s).toString(), u"100"_s);
}

void AccountChangeTest::givenExpiryIsPlannedAnew()
{
    AccountChange change;
    change.watchExpiresAt = now + 2 * core::dayMs;
    const Changed changed = *store::put(established(), change, now);
    QCOMPARE(gmail(changed).expiresAt, now + 2 * core::dayMs);
    QCOMPARE(gmail(changed).nextTargetAt, core::firstTarget(u"a1"_s, now + 2 * core::dayMs, now));
    change.watchExpiresAt = 0;
    QCOMPARE(gmail(*store::put(established(), change, now)).nextTargetAt, now);
}

void AccountChangeTest::historyIdIsKeptSetOrForgotten()
{
    AccountChange change;
    change.historyId = u"18446744073709551615"_s;
    QCOMPARE(gmail(*store::put(established(), change, now)).data.value(u"history_id"_s).toString(),
             *change.historyId);
    change.historyId = QString();
    QVERIFY(!gmail(*store::put(established(), change, now)).data.contains(u"history_id"_s));
    QCOMPARE(gmail(*store::put(established(), {}, now)).data.value(u"history_id"_s).toString(), u"100"_s);
}

// googleapis/google-api-nodejs-client#2301: what a watch is told to filter must be what its owner asked for.
void AccountChangeTest::labelFilterIsKeptSetOrForgotten()
{
    AccountChange change;
    change.watchData = {{u"label_ids"_s, QJsonArray{u"INBOX"_s}}, {u"label_filter_behavior"_s, u"include"_s}};
    AccountRow row = store::put(established(), change, now)->row;
    QJsonObject expected = gmail(*store::put(established(), {}, now)).data;
    expected.insert(u"label_ids"_s, QJsonArray{u"INBOX"_s});
    expected.insert(u"label_filter_behavior"_s, u"include"_s);
    QCOMPARE(row.subscriptions[0].data, expected);
    QCOMPARE(gmail(*store::put(row, {}, now)).data, expected);
    QVERIFY(!store::put(row, change, now)->subscriptions);
    change.watchData = {{u"label_ids"_s, QJsonValue::Null}, {u"label_filter_behavior"_s, QJsonValue::Null}};
    QCOMPARE(gmail(*store::put(row, change, now)).data, gmail(*store::put(established(), {}, now)).data);
}

void AccountChangeTest::anotherFilterMakesALiveWatchDue()
{
    AccountChange change;
    change.watchData = {{u"label_ids"_s, QJsonArray{u"INBOX"_s}}};
    const core::Subscription after = gmail(*store::put(established(), change, now));
    QCOMPARE(after.nextTargetAt, now);
    QCOMPARE(after.nextAttemptAt, gmail(*store::put(established(), {}, now)).nextAttemptAt);

    // A new account is imported with the filter that its watch has already: its first target is spread as ever.
    change.watchExpiresAt = now + 5 * core::dayMs;
    AccountChange plain;
    plain.watchExpiresAt = change.watchExpiresAt;
    QCOMPARE(gmail(*store::created(u"a1"_s, change, now)).nextTargetAt,
             gmail(*store::created(u"a1"_s, plain, now)).nextTargetAt);
}

void AccountChangeTest::stateChanges_data()
{
    QTest::addColumn<AccountState>("from");
    QTest::addColumn<AccountState>("to");
    QTest::addColumn<bool>("hasGrant");
    QTest::addColumn<bool>("allowed");
    QTest::addColumn<bool>("dueNow");
    using enum AccountState;
    QTest::newRow("pause") << Active << Paused << true << true << false;
    QTest::newRow("pause again") << Paused << Paused << true << true << false;
    QTest::newRow("pause parked") << Parked << Paused << true << false << false;
    QTest::newRow("pause needs_reauth") << NeedsReauth << Paused << true << false << false;
    QTest::newRow("pause leaving") << Leaving << Paused << true << false << false;
    QTest::newRow("resume") << Paused << Active << true << true << false;
    QTest::newRow("resume active") << Active << Active << true << true << false;
    QTest::newRow("resume parked") << Parked << Active << true << true << true;
    QTest::newRow("resume needs_reauth, grant kept") << NeedsReauth << Active << true << true << true;
    QTest::newRow("resume needs_reauth, grant gone") << NeedsReauth << Active << false << false << false;
    QTest::newRow("resume leaving") << Leaving << Active << true << false << false;
    QTest::newRow("leave") << Active << Leaving << true << true << false;
    QTest::newRow("leave needs_reauth") << NeedsReauth << Leaving << false << true << false;
    QTest::newRow("leave again") << Leaving << Leaving << true << true << false;
}

void AccountChangeTest::stateChanges()
{
    QFETCH(AccountState, from);
    QFETCH(AccountState, to);
    QFETCH(bool, hasGrant);
    QFETCH(bool, allowed);
    QFETCH(bool, dueNow);
    AccountRow before = established(from);
    before.account.hasRefreshToken = hasGrant;
    AccountChange change;
    change.state = to;
    const Result<Changed> changed = store::patched(before, change, now);
    QCOMPARE(changed.has_value(), allowed);
    if (!allowed) {
        QCOMPARE(changed.error().code, u"conflict"_s);
        QCOMPARE(changed.error().details.value(u"state"_s).toString(), core::toString(from));
        return;
    }
    QVERIFY(changed->row.account.state == to);
    QCOMPARE(changed->account, from != to);
    QCOMPARE(gmail(*changed).nextTargetAt == now, dueNow);
}

void AccountChangeTest::putCallsBackALeavingAccount()
{
    AccountChange change;
    change.language = u"ko"_s;
    QCOMPARE(store::patched(established(AccountState::Leaving), change, now).error().code, u"conflict"_s);
    const Changed changed = *store::put(established(AccountState::Leaving), change, now);
    QVERIFY(changed.row.account.state == AccountState::Active);
    QCOMPARE(gmail(changed).nextTargetAt, now);
}

void AccountChangeTest::newOnesMayBeginPaused()
{
    AccountChange change;
    change.email = u"a@example.com"_s;
    change.grant = token(u"t2"_s);
    change.pausedIfNew = true;
    const Changed first = *store::created(u"a1"_s, change, now);
    QCOMPARE(toString(first.row.account.state), u"paused"_s); // though a grant came with it
    QVERIFY(first.grant);

    const AccountRow active = established();
    QCOMPARE(toString(store::put(active, change, now)->row.account.state), u"active"_s); // not new
}

QTEST_GUILESS_MAIN(AccountChangeTest)
#include "tst_accountchange.moc"
