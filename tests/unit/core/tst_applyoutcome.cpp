// SPDX-License-Identifier: Apache-2.0
#include "core/applyoutcome.h"

#include "core/planner.h"
#include "core/renewalbackoff.h"

#include <QtTest/QTest>

#include <algorithm>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::core;

namespace {

constexpr qint64 now = 1'800'000'000'000;

Subscription row()
{
    Subscription row;
    row.id = u"a/gmail"_s;
    row.account = u"a"_s;
    row.expiresAt = now + 5 * dayMs;
    row.lastSuccessAt = now - 2 * dayMs;
    row.nextTargetAt = now - minuteMs;
    row.data = {{u"label_ids"_s, u"INBOX"_s}, {u"history_id"_s, u"42"_s}};
    return row;
}

ApplyContext context()
{
    return {now, 6 * dayMs, 7 * dayMs, {u"history_id"_s}, 0.5, 60'000};
}

Outcome renewal(qint64 expiresAt = now + 7 * dayMs)
{
    Outcome outcome;
    outcome.kind = OutcomeKind::Renewed;
    outcome.expiresAt = expiresAt;
    outcome.data = {{u"history_id"_s, u"18446744073709551615"_s}};
    return outcome;
}

QStringList types(const Applied &applied)
{
    QStringList types;
    for (const Notice &notice : applied.notices)
        types.append(notice.type);
    return types;
}

} // namespace

class TestApplyOutcome : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void providerAnswers_data();
    void providerAnswers();
    void backoff_data();
    void backoff();
    void success();
    void successKeepsTheConsumersCursor();
    void successAfterALapseTellsTheGap();
    void shortLifetimeIsReported();
    void shortLifetimeIsToldOncePerChange();
    void failuresBackOffForEver();
    void rateIsADeferral_data();
    void rateIsADeferral();
    void deferralOlderThanAnHourIsAnAlert();
    void configurationCountsNothing();
    void accountIsStopped_data();
    void accountIsStopped();
    void errorAtIsSinceWhen();
    void expiryThatCannotBe_data();
    void expiryThatCannotBe();
    void stoppedOnTheWay();
    void marksOfTheProviderStayWithEveryOutcome_data();
    void marksOfTheProviderStayWithEveryOutcome();
    void whatAHumanHasToDoIsSaid();
};

void TestApplyOutcome::providerAnswers_data()
{
    QTest::addColumn<QJsonObject>("result");
    QTest::addColumn<QString>("kind");
    QTest::newRow("renewed") << QJsonObject{{u"outcome"_s, u"renewed"_s}, {u"expires_at"_s, now}}
                             << u"renewed"_s;
    // langgenius/dify#41162: no expiry was stored as "never expires".
    QTest::newRow("renewed without expiry") << QJsonObject{{u"outcome"_s, u"renewed"_s}} << u"transient"_s;
    QTest::newRow("renewed until -1")
        << QJsonObject{{u"outcome"_s, u"renewed"_s}, {u"expires_at"_s, -1}} << u"transient"_s;
    QTest::newRow("gone") << QJsonObject{{u"outcome"_s, u"gone"_s}} << u"gone"_s;
    QTest::newRow("rate") << QJsonObject{{u"outcome"_s, u"rate"_s}} << u"rate"_s;
    QTest::newRow("revoked") << QJsonObject{{u"outcome"_s, u"revoked"_s}} << u"revoked"_s;
    QTest::newRow("configuration") << QJsonObject{{u"outcome"_s, u"configuration"_s}} << u"configuration"_s;
    QTest::newRow("owned elsewhere") << QJsonObject{{u"outcome"_s, u"owned_elsewhere"_s}}
                                     << u"owned_elsewhere"_s;
    QTest::newRow("not a word for providers") << QJsonObject{{u"outcome"_s, u"local"_s}} << u"transient"_s;
    QTest::newRow("unknown") << QJsonObject{{u"outcome"_s, u"fine"_s}} << u"transient"_s;
    QTest::newRow("empty") << QJsonObject{} << u"transient"_s;
}

void TestApplyOutcome::providerAnswers()
{
    QFETCH(QJsonObject, result);
    QTEST(toString(outcomeFrom(Status::success(), result).kind), "kind");
    QCOMPARE(toString(outcomeFrom(Status::failure(u"timeout"_s, u"Late."_s), result).kind), u"transient"_s);
}

void TestApplyOutcome::backoff_data()
{
    QTest::addColumn<int>("failures");
    QTest::addColumn<qint64>("minutes");
    const QList<qint64> steps{1, 2, 5, 10, 20, 40, 60, 120, 240, 240, 240};
    for (int i = 0; i < steps.size(); ++i)
        QTest::addRow("%d", i + 1) << i + 1 << steps[i];
    QTest::newRow("1000") << 1000 << qint64(240);
}

void TestApplyOutcome::backoff()
{
    QFETCH(int, failures);
    QFETCH(qint64, minutes);
    QCOMPARE(renewalBackoffMs(failures, false, 0.5), minutes * minuteMs);
    QCOMPARE(renewalBackoffMs(failures, false, 0), minutes * minuteMs * 8 / 10);
    QVERIFY(renewalBackoffMs(failures, false, 0.999) <= minutes * minuteMs * 12 / 10);
    QVERIFY(renewalBackoffMs(failures, true, 0.999) <= 15 * minuteMs);
}

void TestApplyOutcome::success()
{
    Subscription before = row();
    before.attempts = 3;
    before.deferrals = 2;
    before.nextAttemptAt = now - 1;
    before.errorClass = u"transient"_s;
    before.errorAt = now - hourMs;
    const Applied applied = applyOutcome(before, renewal(), context());
    const Subscription &after = applied.subscription;
    QCOMPARE(after.expiresAt, now + 7 * dayMs);
    QCOMPARE(after.lastSuccessAt, now);
    QCOMPARE(after.attempts, 0);
    QCOMPARE(after.deferrals, 0);
    QCOMPARE(after.nextAttemptAt, 0);
    QVERIFY(after.errorClass.isEmpty());
    QCOMPARE(after.errorAt, 0);
    QVERIFY(qAbs(after.nextTargetAt - (now + dayMs)) <= 2 * hourMs);
    QCOMPARE(after.dueAt, after.nextTargetAt);
    QCOMPARE(after.generation, before.generation); // the store counts
    QVERIFY(!applied.accountState);
    QCOMPARE(types(applied), (QStringList{u"account.renewed"_s, u"account.recovered"_s}));
}

void TestApplyOutcome::successKeepsTheConsumersCursor()
{
    Subscription before = row();
    QCOMPARE(applyOutcome(before, renewal(), context()).subscription.data, before.data);
    before.data.insert(u"history_id"_s, 42); // a consumer that writes a number has a cursor too
    QCOMPARE(applyOutcome(before, renewal(), context()).subscription.data, before.data);
    before.data.remove(u"history_id"_s);
    const QJsonObject data = applyOutcome(before, renewal(), context()).subscription.data;
    QCOMPARE(data.value("history_id"_L1).toString(), u"18446744073709551615"_s);
    QCOMPARE(data.value("label_ids"_L1).toString(), u"INBOX"_s);
}

void TestApplyOutcome::successAfterALapseTellsTheGap()
{
    Subscription before = row();
    before.expiresAt = now - hourMs;
    const Applied applied = applyOutcome(before, renewal(), context());
    const auto gap = std::find_if(applied.notices.begin(), applied.notices.end(),
                                  [](const Notice &notice) { return notice.type == u"watch.gap"_s; });
    QVERIFY(gap != applied.notices.end());
    QCOMPARE(gap->event.value("from"_L1).toInteger(), now - hourMs);
    QCOMPARE(gap->event.value("to"_L1).toInteger(), now);
    QCOMPARE(gap->event.value("history_id"_L1).toString(), u"42"_s);
}

void TestApplyOutcome::shortLifetimeIsReported()
{
    QVERIFY(
        types(applyOutcome(row(), renewal(now + dayMs), context())).contains(u"renewal.lifetime_short"_s));
    QVERIFY(!types(applyOutcome(row(), renewal(), context())).contains(u"renewal.lifetime_short"_s));
}

void TestApplyOutcome::shortLifetimeIsToldOncePerChange()
{
    ApplyContext later = context();
    Subscription current = row();
    int told = 0;
    const auto renewDaily = [&](qint64 grantedMs) {
        for (int day = 0; day < 5; ++day, later.nowMs += dayMs / 2) {
            const Applied applied = applyOutcome(current, renewal(later.nowMs + grantedMs), later);
            told += static_cast<int>(types(applied).count(u"renewal.lifetime_short"_s));
            current = applied.subscription;
        }
    };
    renewDaily(dayMs);
    QCOMPARE(told, 1);
    renewDaily(dayMs + minuteMs); // no change worth a word
    QCOMPARE(told, 1);
    renewDaily(2 * dayMs);
    QCOMPARE(told, 2);
    renewDaily(7 * dayMs);
    QCOMPARE(told, 2);
    renewDaily(dayMs);
    QCOMPARE(told, 3);
}

void TestApplyOutcome::failuresBackOffForEver()
{
    Subscription current = row();
    for (int i = 1; i <= 30; ++i) {
        const Applied applied =
            applyOutcome(current, Outcome::transient(u"http_503"_s, u"Down."_s), context());
        current = applied.subscription;
        QCOMPARE(current.attempts, i);
        QCOMPARE(current.nextAttemptAt, now + renewalBackoffMs(i, false, 0.5));
        QCOMPARE(current.dueAt, current.nextAttemptAt);
        QVERIFY(!applied.accountState);
    }
    current.expiresAt = now + hourMs; // critical now
    current = applyOutcome(current, Outcome::transient(u"http_503"_s, u"Down."_s), context()).subscription;
    QVERIFY(current.nextAttemptAt <= now + 15 * minuteMs);
}

void TestApplyOutcome::rateIsADeferral_data()
{
    QTest::addColumn<qint64>("until");
    QTest::addColumn<qint64>("expected");
    QTest::newRow("told") << now + 15 * minuteMs << now + 15 * minuteMs;
    QTest::newRow("unknown") << qint64(0) << now + minuteMs;
    QTest::newRow("in the past") << now - hourMs << now + 1'000;
    QTest::newRow("next year") << now + 365 * dayMs << now + dayMs;
}

void TestApplyOutcome::rateIsADeferral()
{
    QFETCH(qint64, until);
    const Applied applied = applyOutcome(row(), Outcome::rate(u"r"_s, u"Slow down."_s, until), context());
    QTEST(applied.subscription.nextAttemptAt, "expected");
    QCOMPARE(applied.subscription.deferrals, 1);
    QCOMPARE(applied.subscription.attempts, 0);
    QCOMPARE(applied.subscription.errorClass, u"rate"_s);
}

void TestApplyOutcome::deferralOlderThanAnHourIsAnAlert()
{
    Subscription before = row();
    before.errorClass = u"rate"_s;
    before.errorAt = now - 59 * minuteMs;
    const Outcome rate = Outcome::rate(u"r"_s, u"Slow down."_s, 0);
    QVERIFY(!types(applyOutcome(before, rate, context())).contains(u"alert.renewal_deferred"_s));
    before.errorAt = now - 61 * minuteMs;
    Applied applied = applyOutcome(before, rate, context());
    QVERIFY(types(applied).contains(u"alert.renewal_deferred"_s));

    // Once, however long it lasts; and again when it begins anew.
    for (int i = 0; i < 10; ++i) {
        applied = applyOutcome(applied.subscription, rate, context());
        QCOMPARE(types(applied), QStringList{u"renewal.deferred"_s});
    }
    applied = applyOutcome(applied.subscription, renewal(), context());
    QCOMPARE(applied.subscription.data, row().data);
    before = applied.subscription;
    before.errorClass = u"rate"_s;
    before.errorAt = now - 61 * minuteMs;
    QVERIFY(types(applyOutcome(before, rate, context())).contains(u"alert.renewal_deferred"_s));
}

void TestApplyOutcome::configurationCountsNothing()
{
    const Outcome outcome =
        Outcome::configuration(FaultScope::Client, u"invalid_client"_s, u"Wrong."_s, u"Mend."_s);
    const Applied applied = applyOutcome(row(), outcome, context());
    QCOMPARE(applied.subscription.attempts, 0);
    QCOMPARE(applied.subscription.deferrals, 0);
    QCOMPARE(applied.subscription.nextAttemptAt, now + 60'000);
    QCOMPARE(applied.subscription.errorCode, u"invalid_client"_s);
    QVERIFY(!applied.accountState);
    QVERIFY(applied.notices.isEmpty());
}

void TestApplyOutcome::accountIsStopped_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("asked");
    QTest::addColumn<int>("state");
    QTest::addColumn<QString>("event");
    const auto number = [](auto value) { return static_cast<int>(value); };
    QTest::newRow("revoked") << number(OutcomeKind::Revoked) << 0 << number(AccountState::NeedsReauth)
                             << u"account.reauth_required"_s;
    QTest::newRow("parked") << number(OutcomeKind::Account) << number(AccountState::Parked)
                            << number(AccountState::Parked) << u"account.parked"_s;
    QTest::newRow("missing scope") << number(OutcomeKind::Account) << number(AccountState::NeedsReauth)
                                   << number(AccountState::NeedsReauth) << u"account.reauth_required"_s;
    QTest::newRow("owned elsewhere") << number(OutcomeKind::OwnedElsewhere) << 0
                                     << number(AccountState::Parked) << u"alert.watch_owned_elsewhere"_s;
    QTest::newRow("gone") << number(OutcomeKind::Gone) << 0 << number(AccountState::Parked)
                          << u"account.parked"_s;
}

void TestApplyOutcome::accountIsStopped()
{
    QFETCH(int, kind);
    QFETCH(int, asked);
    QFETCH(int, state);
    QFETCH(QString, event);
    Outcome outcome;
    outcome.kind = static_cast<OutcomeKind>(kind);
    outcome.accountState = static_cast<AccountState>(asked);
    outcome.code = u"why"_s;
    const Applied applied = applyOutcome(row(), outcome, context());
    QVERIFY(applied.accountState.has_value());
    QCOMPARE(static_cast<int>(*applied.accountState), state);
    QCOMPARE(types(applied), QStringList{event});
    QCOMPARE(applied.notices.first().event.value("reason"_L1).toString(), u"why"_s);
    QCOMPARE(applied.subscription.attempts, 0);
}

void TestApplyOutcome::errorAtIsSinceWhen()
{
    Subscription current = applyOutcome(row(), Outcome::transient(u"x"_s, u"X."_s), context()).subscription;
    QCOMPARE(current.errorAt, now);
    ApplyContext later = context();
    later.nowMs += hourMs;
    current = applyOutcome(current, Outcome::transient(u"y"_s, u"Y."_s), later).subscription;
    QCOMPARE(current.errorAt, now);
    QCOMPARE(current.errorCode, u"y"_s);
    current = applyOutcome(current, Outcome::rate(u"r"_s, u"R."_s, 0), later).subscription;
    QCOMPARE(current.errorAt, now + hourMs);
}

void TestApplyOutcome::expiryThatCannotBe_data()
{
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<qint64>("stored"); ///< 0 = not renewed
    QTest::newRow("now") << now << qint64(0);
    QTest::newRow("past") << now - dayMs << qint64(0);
    QTest::newRow("in seconds") << now / 1000 << qint64(0);
    QTest::newRow("a minute") << now + minuteMs << now + minuteMs;
    QTest::newRow("as declared, by a clock ahead of ours")
        << now + 7 * dayMs + minuteMs << now + 7 * dayMs + minuteMs;
    // langgenius/dify#41162: a watch that "never expires" was never renewed.
    QTest::newRow("in a hundred years") << now + 36'500 * dayMs << now + 7 * dayMs + hourMs;
    QTest::newRow("in microseconds") << now * 1000 << now + 7 * dayMs + hourMs;
}

void TestApplyOutcome::expiryThatCannotBe()
{
    QFETCH(qint64, expiresAt);
    QFETCH(qint64, stored);
    const Applied applied = applyOutcome(row(), renewal(expiresAt), context());
    const Subscription &after = applied.subscription;
    QCOMPARE(after.expiresAt, stored > 0 ? stored : row().expiresAt);
    QCOMPARE(after.attempts, stored > 0 ? 0 : 1);
    QCOMPARE(after.errorCode, stored > 0 ? QString() : u"expired_answer"_s);
    QVERIFY(after.dueAt > now && after.dueAt < now + 2 * dayMs);
}

/// Eagnir/GmailNotify-PubSub-GCP#2: the old watch was stopped, and the new one was not made.
void TestApplyOutcome::stoppedOnTheWay()
{
    Subscription before = row();
    before.nextTargetAt = now + dayMs; // a renewal that somebody asked for before it was due
    Outcome outcome = Outcome::transient(u"network"_s, u"No answer."_s);
    outcome.endedAt = now;
    outcome.data = {{u"taken_over_at"_s, now}};
    const Subscription after = applyOutcome(before, outcome, context()).subscription;
    QCOMPARE(after.expiresAt, now);
    QCOMPARE(after.dueAt, now + minuteMs);
    QCOMPARE(after.data.value("taken_over_at"_L1).toInteger(), now);

    ApplyContext later = context();
    later.nowMs += minuteMs;
    const Applied renewed = applyOutcome(after, renewal(), later);
    QCOMPARE(renewed.subscription.data.value("taken_over_at"_L1).toInteger(), now);
    QVERIFY(types(renewed).contains(u"watch.gap"_s));
}

void TestApplyOutcome::marksOfTheProviderStayWithEveryOutcome_data()
{
    QTest::addColumn<int>("kind");
    for (int kind = 0; kind <= static_cast<int>(OutcomeKind::Local); ++kind)
        QTest::newRow(qPrintable(toString(static_cast<OutcomeKind>(kind)))) << kind;
}

void TestApplyOutcome::marksOfTheProviderStayWithEveryOutcome()
{
    QFETCH(int, kind);
    Outcome outcome = renewal();
    outcome.kind = static_cast<OutcomeKind>(kind);
    outcome.data = {{u"taken_over_at"_s, now}, {u"history_id"_s, u"7"_s}};
    const QJsonObject data = applyOutcome(row(), outcome, context()).subscription.data;
    QCOMPARE(data.value("taken_over_at"_L1).toInteger(), now);
    QCOMPARE(data.value("history_id"_L1).toString(), u"42"_s);
    QCOMPARE(data.value("label_ids"_L1).toString(), u"INBOX"_s);
}

void TestApplyOutcome::whatAHumanHasToDoIsSaid()
{
    const QJsonObject answer{
        {u"outcome"_s, u"owned_elsewhere"_s}, {u"text"_s, u"Taken."_s}, {u"remedy"_s, u"Give it back."_s}};
    const Applied applied = applyOutcome(row(), outcomeFrom(Status::success(), answer), context());
    QCOMPARE(applied.subscription.errorText, u"Taken. Give it back."_s);
    QCOMPARE(applied.notices.first().event.value("remedy"_L1).toString(), u"Give it back."_s);
}

QTEST_GUILESS_MAIN(TestApplyOutcome)
#include "tst_applyoutcome.moc"
