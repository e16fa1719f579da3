// SPDX-License-Identifier: Apache-2.0
#include "core/explain.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

constexpr qint64 now = 1'800'000'000'000; // 2027-01-15 08:00:00 UTC

ExplainInput input()
{
    ExplainInput input;
    input.nowMs = now;
    input.account.id = u"a"_s;
    input.subscription.id = u"a/gmail"_s;
    input.subscription.provider = u"gmail"_s;
    input.subscription.expiresAt = now + 5 * dayMs;
    input.subscription.lastSuccessAt = now - 2 * dayMs;
    input.subscription.nextTargetAt = now - hourMs;
    return input;
}

} // namespace

class TestExplain : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void grantsThatEndEarly();
    void summary_data();
    void summary();
    void factsAreThere();
    void window_data();
    void window();
    void noWatchDoesNotClaimToBeDue();
    void plannedAttempts_data();
    void plannedAttempts();
    void whetherTheWatchDelivers();
};

void TestExplain::summary_data()
{
    QTest::addColumn<ExplainInput>("given");
    QTest::addColumn<bool>("due");
    QTest::addColumn<QString>("begins");
    const auto row = [](const char *name, bool due, const QString &begins, auto change) {
        ExplainInput given = input();
        change(given);
        QTest::newRow(name) << given << due << begins;
    };
    row("due", true, u"Due since 2027-01-15 07:00:00 UTC."_s, [](ExplainInput &) {});
    row("no watch", true, u"Due: there is no watch"_s, [](ExplainInput &i) { i.subscription.expiresAt = 0; });
    row("its turn comes", false, u"Not due: its turn is in 3 hours, at 2027-01-15 11:00:00 UTC."_s,
        [](ExplainInput &i) { i.subscription.nextTargetAt = now + 3 * hourMs; });
    row("back-off", false,
        u"Not due: the next attempt is in 5 minutes, at 2027-01-15 08:05:00 UTC. Gmail answered 503."_s,
        [](ExplainInput &i) {
            i.subscription.nextAttemptAt = now + 5 * minuteMs;
            i.subscription.errorText = u"Gmail answered 503."_s;
        });
    row("breaker", true, u"Due, but renewals wait for a fault of configuration: Wrong secret."_s,
        [](ExplainInput &i) {
            i.stop = StopKind::Configuration;
            i.stopText = u"Wrong secret."_s;
        });
    const auto putOff = [](ExplainInput &i) {
        i.subscription.expiresAt = 0;
        i.subscription.nextAttemptAt = now + 30'000;
    };
    row("breaker, never attempted", false,
        u"Not due: renewals wait for a fault of configuration: Wrong secret. The next probe is in 30 seconds."_s,
        [putOff](ExplainInput &i) {
            putOff(i);
            i.stop = StopKind::Configuration;
            i.stopText = u"Wrong secret."_s;
            i.stopWaitMs = 30'000;
        });
    row("breaker, probe due", true,
        u"Due, but renewals wait for a fault of configuration: Wrong secret. The next probe is due now."_s,
        [](ExplainInput &i) {
            i.stop = StopKind::Configuration;
            i.stopText = u"Wrong secret."_s;
        });
    row("breaker, but its own back-off lasts longer", false,
        u"Not due: the next attempt is in 5 minutes, at 2027-01-15 08:05:00 UTC. Gmail answered 503."_s,
        [](ExplainInput &i) {
            i.subscription.nextAttemptAt = now + 5 * minuteMs;
            i.subscription.errorClass = u"transient"_s;
            i.subscription.errorText = u"Gmail answered 503."_s;
            i.stop = StopKind::Configuration;
            i.stopText = u"Wrong secret."_s;
            i.stopWaitMs = 30'000;
        });
    row("breaker, but its turn comes later", false, u"Not due: its turn is in 3 hours"_s,
        [](ExplainInput &i) {
            i.subscription.nextTargetAt = now + 3 * hourMs;
            i.stop = StopKind::Configuration;
            i.stopText = u"Wrong secret."_s;
        });
    row("put off, breaker closed since", false,
        u"Not due: the next attempt is in 30 seconds, at 2027-01-15 08:00:30 UTC. It was put off, without an attempt"_s,
        putOff);
    row("observe", true, u"Due, but renewing only observes"_s, [](ExplainInput &i) { i.observe = true; });
    row("a copy of the database", true, u"Due, but nothing is called: The database is a copy."_s,
        [](ExplainInput &i) {
            i.observe = true;
            i.observeReason = u"The database is a copy."_s;
        });
    row("its project pauses", true,
        u"Due, but most calls of project \"default\" fail for a while, so its renewals pause: Gmail is down. "
        u"They "
        "go on by themselves; the next probe is in 40 seconds."_s,
        [](ExplainInput &i) {
            i.stop = StopKind::Pause;
            i.stopText = u"Gmail is down."_s;
            i.stopWaitMs = 40'000;
        });
    row("a wave stops its client", true, u"Due, but many accounts of this client fail in the same way"_s,
        [](ExplainInput &i) {
            i.stop = StopKind::Wave;
            i.stopText = u"invalid_grant."_s;
        });
    row("one of a wave", false, u"Not due: the account is one of a wave"_s, [](ExplainInput &i) {
        i.waveText = u"Many grants seem lost."_s;
        i.subscription.errorClass = u"configuration"_s;
        i.subscription.nextAttemptAt = now + 5 * minuteMs;
    });
    row("quota frozen", false,
        u"Not due: calls are held back by the quota until 2027-01-15 08:10:00 UTC, in 10 minutes. Slow down."_s,
        [](ExplainInput &i) {
            i.subscription.errorClass = u"rate"_s;
            i.subscription.errorText = u"Slow down."_s;
            i.subscription.nextAttemptAt = now + 10 * minuteMs;
        });
    row("a paced backlog", true,
        u"Due, but its turn may not have come: a backlog is worked at twice the daily mean at most, and the "
        u"last "
        u"scan "
        "left 80 for"_s,
        [](ExplainInput &i) { i.heldBack = 80; });
    row("a paced backlog does not hold one with little time left", true, u"Due since"_s, [](ExplainInput &i) {
        i.heldBack = 80;
        i.subscription.expiresAt = now + 12 * hourMs;
    });
    row("no plugin", true, u"Not renewed: no running plugin provides \"gmail\"."_s,
        [](ExplainInput &i) { i.hasProvider = false; });
    row("paused", false, u"Not due: the account is paused."_s,
        [](ExplainInput &i) { i.account.state = AccountState::Paused; });
    row("needs reauth", false, u"Not due: the user has to consent again (reason: invalid_grant)."_s,
        [](ExplainInput &i) {
            i.account.state = AccountState::NeedsReauth;
            i.account.stateReason = u"invalid_grant"_s;
        });
    row("parked", false, u"Not due: the account is parked (reason: domain_policy)."_s, [](ExplainInput &i) {
        i.account.state = AccountState::Parked;
        i.account.stateReason = u"domain_policy"_s;
    });
    row("parked, with its remedy", false,
        u"Not due: the account is parked (reason: failed_precondition). Mail is off. Turn it on. Resume it once"_s,
        [](ExplainInput &i) {
            i.account.state = AccountState::Parked;
            i.account.stateReason = u"failed_precondition"_s;
            i.subscription.errorText = u"Mail is off. Turn it on."_s;
        });
    row("parked, owned elsewhere", false,
        u"Not due: the account is parked, since something else holds a watch on its mailbox."_s,
        [](ExplainInput &i) {
            i.account.state = AccountState::Parked;
            i.account.stateReason = u"watch_owned_elsewhere"_s;
        });
    row("leaving", false, u"Not due: the account is leaving"_s,
        [](ExplainInput &i) { i.account.state = AccountState::Leaving; });
}

void TestExplain::summary()
{
    QFETCH(ExplainInput, given);
    QFETCH(bool, due);
    QFETCH(QString, begins);
    const QJsonObject result = explain(given);
    QCOMPARE(result.value("due"_L1).toBool(), due);
    const QString text = result.value("summary"_L1).toString();
    QVERIFY2(text.startsWith(begins), qPrintable(text));
}

void TestExplain::factsAreThere()
{
    ExplainInput given = input();
    given.subscription.errorClass = u"transient"_s;
    given.subscription.errorCode = u"http_503"_s;
    given.subscription.errorText = u"Gmail answered 503."_s;
    given.subscription.errorAt = now - hourMs;
    given.subscription.attempts = 4;
    const QJsonObject result = explain(given);
    QStringList sentences;
    const QJsonArray array = result.value("sentences"_L1).toArray();
    for (const QJsonValue &sentence : array)
        sentences.append(sentence.toString());
    QCOMPARE(sentences.size(), 5);
    QCOMPARE(sentences[0], u"The watch lasts another 5 days, until 2027-01-20 08:00:00 UTC."_s);
    QCOMPARE(sentences[1], u"The last success was 2 days ago, at 2027-01-13 08:00:00 UTC."_s);
    QVERIFY(sentences[2].startsWith(u"It is renewed 6 days before it lapses"_s));
    QCOMPARE(sentences[3],
             u"Since 2027-01-15 07:00:00 UTC it fails as transient (http_503), after 4 attempts and 0 "
             u"deferrals: Gmail "
             "answered 503."_s);
    QCOMPARE(
        sentences[4],
        u"It is tried at 2027-01-15 08:00:00 UTC; if it fails, again at about 2027-01-15 08:20:00 UTC and "
        "2027-01-15 09:00:00 UTC."_s); // the fifth failure waits 20 minutes, the sixth 40
    QCOMPARE(result.value("band"_L1).toString(), u"delayed"_s);
    QCOMPARE(result.value("window_ms"_L1).toInteger(), 6 * dayMs);
}

void TestExplain::window_data()
{
    QTest::addColumn<qint64>("lifetimeMs");
    QTest::addColumn<QString>("words");
    QTest::newRow("whole") << 7 * dayMs << u"renewed 6 days before"_s;
    // The answer takes a moment, so a lifetime is hardly ever whole.
    QTest::newRow("a second less") << 7 * dayMs - 1'000 << u"renewed 6 days before"_s;
    QTest::newRow("days and hours") << 7 * (5 * dayMs + 14 * hourMs) / 6
                                    << u"renewed 5 days 14 hours before"_s;
    QTest::newRow("hours") << 7 * hourMs << u"renewed 6 hours before"_s;
    QTest::newRow("hours and minutes")
        << 7 * (hourMs + 15 * minuteMs) << u"renewed 7 hours 30 minutes before"_s;
    QTest::newRow("minutes") << 7 * minuteMs - 1'000 << u"renewed 6 minutes before"_s;
}

void TestExplain::window()
{
    QFETCH(qint64, lifetimeMs);
    QFETCH(QString, words);
    ExplainInput given = input();
    given.subscription.lastSuccessAt = now;
    given.subscription.expiresAt = now + lifetimeMs;
    const QString text = explain(given).value("sentences"_L1).toArray().at(2).toString();
    QVERIFY2(text.contains(words), qPrintable(text));
}

void TestExplain::noWatchDoesNotClaimToBeDue()
{
    ExplainInput given = input();
    given.subscription.expiresAt = 0;
    given.subscription.nextAttemptAt = now + 30'000;
    const QJsonObject result = explain(given);
    QVERIFY(!result.value("due"_L1).toBool());
    const QString fact = result.value("sentences"_L1).toArray().first().toString();
    QVERIFY2(!fact.contains(u"due"_s), qPrintable(fact));
}

void TestExplain::plannedAttempts_data()
{
    QTest::addColumn<ExplainInput>("given");
    QTest::addColumn<QList<qint64>>("minutes");
    const auto row = [](const char *name, const QList<qint64> &minutes, auto change) {
        ExplainInput given = input();
        change(given);
        QTest::newRow(name) << given << minutes;
    };
    row("due", {0, 1, 3}, [](ExplainInput &) {});
    row("its turn comes", {180, 181, 183},
        [](ExplainInput &i) { i.subscription.nextTargetAt = now + 3 * hourMs; });
    row("little time left", {0, 15, 30}, [](ExplainInput &i) {
        i.subscription.attempts = 9;
        i.subscription.expiresAt = now + hourMs;
    });
    row("behind a breaker", {2, 3, 5}, [](ExplainInput &i) {
        i.stop = StopKind::Configuration;
        i.stopWaitMs = 2 * minuteMs;
    });
    row("observing", {}, [](ExplainInput &i) { i.observe = true; });
    row("paused", {}, [](ExplainInput &i) { i.account.state = AccountState::Paused; });
    row("no plugin", {}, [](ExplainInput &i) { i.hasProvider = false; });
}

void TestExplain::plannedAttempts()
{
    QFETCH(ExplainInput, given);
    QFETCH(QList<qint64>, minutes);
    QList<qint64> planned;
    const QJsonArray attempts = explain(given)["next_attempts"_L1].toArray();
    for (const QJsonValue &at : attempts)
        planned.append((at.toInteger() - now) / minuteMs);
    QCOMPARE(planned, minutes);
}

void TestExplain::whetherTheWatchDelivers()
{
    ExplainInput given = input();
    const auto says = [&](const QString &part) {
        const QJsonArray sentences = explain(given)["sentences"_L1].toArray();
        return std::count_if(sentences.begin(), sentences.end(),
                             [&](const QJsonValue &sentence) { return sentence.toString().contains(part); });
    };
    QCOMPARE(says(u"push"_s), 0);
    given.lastPushAt = now - hourMs;
    QCOMPARE(says(u"The last push came at 2027-01-15 07:00:00 UTC; none since the last renewal yet."_s), 1);
    given.pushState = PushState::Proven;
    QCOMPARE(says(u"proven to deliver: the last push came at 2027-01-15 07:00:00 UTC."_s), 1);
    given.pushState = PushState::Silent;
    QCOMPARE(says(u"The watch is silent"_s), 1);
}

void TestExplain::grantsThatEndEarly()
{
    // insanum/gcalcli#628: whoever consents again must know that it lasts a week.
    ExplainInput input;
    input.nowMs = now;
    input.grantHint = u"Its consent screen seems to be in testing."_s;
    QVERIFY(!explain(input)["sentences"_L1].toArray().contains(input.grantHint));
    input.account.state = AccountState::NeedsReauth;
    QVERIFY(explain(input)["sentences"_L1].toArray().contains(input.grantHint));
}

QTEST_APPLESS_MAIN(TestExplain)
#include "tst_explain.moc"
