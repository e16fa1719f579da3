// SPDX-License-Identifier: Apache-2.0
// What must hold for any limits, costs, lanes, bookings, refunds, freezes, changes of the limits, steps of the clock and
// callers at once, on a million random calls. The seed is printed; TIDEKEEPER_SEED repeats a run and TIDEKEEPER_CALLS
// changes its length.
#include "minutecheck.h"
#include "quotaredis.h"

#include <QtCore/QRandomGenerator>
#include <QtTest/QTest>

#include <cmath>
#include <deque>
#include <optional>

using namespace tidekeeper::test;

namespace {

constexpr qint64 minuteUs = 60'000'000;
constexpr qint64 hourUs = 60 * minuteUs;
constexpr qint64 probeUs = 10'000'000;
constexpr int callsOfARound = 2'000;

/// A wait is rounded up to at most this much more than it had to be.
qint64 roundingUs(qint64 refillPerMinute)
{
    return 1'000 + 60'000 / refillPerMinute + 1;
}

/// Longer than a bucket needs to be full at a quarter of its refill.
qint64 keyTtlMs(const QuotaLimits &limits)
{
    const qint64 minutesToFull = std::max(limits.accountCapacity / limits.accountRefill,
                                          limits.projectCapacity / limits.projectRefill);
    return std::min(qint64(1'000'000'000'000), 3'600'000 + 4 * 60'000 * minutesToFull);
}

/// One scope as a caller sees it: an account or the project.
struct Scope {
    MinuteCheck minutes;
    std::optional<qint64> levelMilli; ///< while the time stands still
    bool writtenUnderLimits = false; ///< since they last changed
    // A freeze that the test knows of.
    bool frozen = false;
    qint64 frozenUntilUs = 0;
    qint64 probeAtUs = -1;
};

struct Grant {
    QByteArray account;
    qint64 cost;
    qint64 atUs;
    qint64 serverUs;
    size_t ofAccount; ///< number in MinuteCheck
    size_t ofProject;
};

} // namespace

class TestQuotaProperty : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void randomCallers_data();
    void randomCallers();
    void toldWaitsAddUpToTheRefill_data();
    void toldWaitsAddUpToTheRefill();

private:
    qint64 between(qint64 least, qint64 most)
    {
        return least + qint64(m_random.generate64() % quint64(most - least + 1));
    }
    bool oneIn(qint64 n) { return between(1, n) == 1; }
    /// From 1 to most, small and large alike.
    qint64 anyScale(qint64 most)
    {
        return std::min(most, qint64(std::pow(2.0, double(between(0, 3000)) / 100.0 - 0.5) + 1));
    }
    QuotaLimits randomLimits();
    QuotaAsk randomAsk();
    QByteArray randomAccount() { return QByteArray::number(between(0, 3)); }
    qint64 serverUs() const { return m_trueUs + m_skewUs; }

    void beginRound();
    void pass(qint64 us);
    void callersAtOnce();
    void take(const QuotaAsk &ask, const QuotaDecision &decision);
    void checkRefusal(const QuotaAsk &ask, const QuotaDecision &refused);
    void checkAsTold(const QuotaAsk &ask, const QuotaDecision &refused);
    void checkLevels(Scope &account, const QuotaDecision &decision, qint64 taken);
    void checkFrozen(Scope &scope, bool takesProbe);
    void checkExpiry(const QByteArray &account);
    void refundOne();
    void reportOne();
    void changeLimits();
    void stepTheClock();
    double debtOf(const QByteArray &account);

    QRandomGenerator m_random;
    QuotaRedis m_redis;
    QuotaLimits m_limits;
    std::map<QByteArray, Scope> m_accounts;
    Scope m_project;
    std::deque<Grant> m_grants;
    qint64 m_trueUs = 0; ///< of a clock that never steps
    qint64 m_skewUs = 0; ///< by which the server's clock is ahead
    /// Since the clock stepped: the buckets learn of a small step back only when one of them is met that was written
    /// before, and then their time moves although the server's stands still.
    bool m_hasStepped = false;
    qint64 m_calls = 0;
    int m_ids = 0;
};

void TestQuotaProperty::initTestCase()
{
    const quint32 seed = qEnvironmentVariableIsSet("TIDEKEEPER_SEED")
        ? qEnvironmentVariableIntValue("TIDEKEEPER_SEED")
        : QRandomGenerator::global()->generate() >> 1;
    qInfo("TIDEKEEPER_SEED=%u", seed);
    m_random.seed(seed);
    QVERIFY(m_redis.start());
}

void TestQuotaProperty::randomCallers_data()
{
    QTest::addColumn<int>("round");
    const int calls = qEnvironmentVariableIsSet("TIDEKEEPER_CALLS")
        ? qEnvironmentVariableIntValue("TIDEKEEPER_CALLS")
        : 1'000'000;
    for (int round = 0; round < calls / callsOfARound; ++round)
        QTest::addRow("%d", round) << round;
}

QuotaLimits TestQuotaProperty::randomLimits()
{
    QuotaLimits limits;
    limits.accountCapacity = anyScale(1'000'000);
    limits.accountRefill = anyScale(10'000'000);
    limits.projectCapacity = anyScale(5'000'000);
    limits.projectRefill = anyScale(50'000'000);
    limits.accountReserve = double(between(0, 90)) / 100;
    limits.projectReserve = double(between(0, 90)) / 100;
    limits.keyTtlMs = keyTtlMs(limits);
    limits.slots = between(1, 10);
    return limits;
}

QuotaAsk TestQuotaProperty::randomAsk()
{
    const qint64 most = std::min(m_limits.accountCapacity, m_limits.projectCapacity);
    QuotaAsk ask(oneIn(20) ? between(0, most * 2) : between(0, (most + 3) / 4));
    ask.account = randomAccount();
    ask.lane = QByteArrayList{"realtime", "realtime", "bulk", "renewal"}[between(0, 3)];
    ask.hold = oneIn(10);
    if (oneIn(3))
        ask.waiting(between(0, 30'000));
    if (oneIn(10))
        ask.withId(QByteArray::number(++m_ids));
    return ask;
}

void TestQuotaProperty::beginRound()
{
    m_redis.restart();
    m_limits = randomLimits();
    m_redis.setLimits(m_limits);
    m_accounts.clear();
    m_project = {};
    m_grants.clear();
    m_trueUs = QuotaRedis::startUs;
    m_skewUs = 0;
    m_hasStepped = false;
    m_calls = 0;
    m_project.minutes.limitsChanged(m_trueUs, m_limits.projectCapacity, m_limits.projectRefill, 0);
    for (int i = 0; i < 4; ++i) {
        m_accounts[QByteArray::number(i)].minutes.limitsChanged(m_trueUs, m_limits.accountCapacity,
                                                                m_limits.accountRefill, 0);
    }
}

void TestQuotaProperty::pass(qint64 us)
{
    if (us == 0)
        return;
    m_trueUs += us;
    m_project.levelMilli.reset();
    for (auto &[name, account] : m_accounts)
        account.levelMilli.reset();
}

void TestQuotaProperty::randomCallers()
{
    beginRound();
    const qint64 unitUs = std::max(qint64(1), minuteUs / m_limits.accountRefill);
    const bool steps = oneIn(3);
    while (m_calls < callsOfARound && !QTest::currentTestFailed()) {
        pass(oneIn(4) ? 0 : between(0, unitUs * (m_limits.accountCapacity / 8 + 1)));
        callersAtOnce();
        if (oneIn(3))
            refundOne();
        if (oneIn(8))
            reportOne();
        if (oneIn(20))
            changeLimits();
        if (steps && oneIn(20))
            stepTheClock();
    }
    for (const auto &[name, account] : m_accounts)
        QCOMPARE(account.minutes.violation(false), QByteArray());
    QCOMPARE(m_project.minutes.violation(true), QByteArray());
}

void TestQuotaProperty::callersAtOnce()
{
    QList<QuotaAsk> asks;
    QList<QList<QByteArray>> words;
    for (qint64 i = between(1, 48); i > 0; --i) {
        asks.append(randomAsk());
        words.append(QuotaRedis::words(serverUs(), asks.last()));
    }
    const QList<tidekeeper::redis::Value> answers = m_redis.commands(words);
    m_calls += asks.size();
    std::optional<std::pair<QuotaAsk, QuotaDecision>> refused;
    for (qsizetype i = 0; i < asks.size(); ++i) {
        const QuotaDecision decision = QuotaRedis::decision(answers[i]);
        QVERIFY2(decision.error.isEmpty(), decision.error);
        if (decision.granted) {
            take(asks[i], decision);
        } else {
            checkRefusal(asks[i], decision);
            refused = {asks[i], decision};
        }
        if (oneIn(40))
            checkExpiry(asks[i].account);
    }
    if (refused && oneIn(2))
        checkAsTold(refused->first, refused->second);
}

/// A grant takes its cost from both buckets, and may be made at all.
void TestQuotaProperty::take(const QuotaAsk &ask, const QuotaDecision &decision)
{
    QVERIFY(decision.waitMs >= 0 && decision.waitMs <= ask.maxWaitMs.toLongLong());
    Scope &account = m_accounts[ask.account];
    const qint64 cost = ask.cost.toLongLong();
    checkLevels(account, decision, cost);
    checkFrozen(account, cost > 0);
    checkFrozen(m_project, cost > 0);
    if (cost == 0)
        return;
    account.writtenUnderLimits = true;
    const qint64 sendUs = m_trueUs + decision.waitMs * 1000;
    m_grants.push_back({ask.account, cost, m_trueUs, decision.nowUs,
                        account.minutes.granted(m_trueUs, sendUs, cost),
                        m_project.minutes.granted(m_trueUs, sendUs, cost)});
    if (m_grants.size() > 50)
        m_grants.pop_front();
}

/// As long as no time passes both levels change by what is taken, and by nothing else.
void TestQuotaProperty::checkLevels(Scope &account, const QuotaDecision &decision, qint64 taken)
{
    if (account.levelMilli && !m_hasStepped)
        QCOMPARE(decision.accountLevel, *account.levelMilli - taken * 1000);
    if (m_project.levelMilli && !m_hasStepped)
        QCOMPARE(decision.projectLevel, *m_project.levelMilli - taken * 1000);
    account.levelMilli = decision.accountLevel;
    m_project.levelMilli = decision.projectLevel;
}

/// Nothing passes a freeze while its time runs, and then one call until its answer is known or ten seconds have gone.
void TestQuotaProperty::checkFrozen(Scope &scope, bool takesProbe)
{
    if (!scope.frozen || m_hasStepped)
        return;
    QVERIFY2(m_trueUs >= scope.frozenUntilUs, "granted through a freeze");
    if (scope.probeAtUs < 0) {
        if (takesProbe)
            scope.probeAtUs = m_trueUs;
        return;
    }
    QVERIFY2(m_trueUs >= scope.probeAtUs + probeUs, "granted beside the probe");
    scope.frozen = !takesProbe;
}

/// A refusal changes nothing, and is for ever only when the lane can never have so much.
void TestQuotaProperty::checkRefusal(const QuotaAsk &ask, const QuotaDecision &refused)
{
    Scope &account = m_accounts[ask.account];
    checkLevels(account, refused, 0);
    const bool bulk = ask.lane == "bulk";
    const auto largest = [bulk](qint64 capacity, double reserve) {
        return capacity * 1000 - (bulk ? qint64(double(capacity) * 1000 * reserve) : 0);
    };
    const qint64 costMilli = ask.cost.toLongLong() * 1000;
    const bool possible = costMilli == 0
        || (costMilli <= largest(m_limits.accountCapacity, m_limits.accountReserve)
            && costMilli <= largest(m_limits.projectCapacity, m_limits.projectReserve));
    QCOMPARE(refused.refusedBy == "never", !possible);
    QCOMPARE(refused.retryAfterMs < 0, !possible);
    QVERIFY(refused.retryAfterMs != 0);
}

/// The same request is granted after the told wait when nobody else asks, and not much earlier for want of units.
void TestQuotaProperty::checkAsTold(const QuotaAsk &ask, const QuotaDecision &refused)
{
    if (refused.retryAfterMs < 0)
        return;
    // The refusal may be older than grants of the same moment: ask again.
    const QuotaDecision now = m_redis.at(serverUs(), ask);
    if (now.granted)
        return take(ask, now);
    const bool forUnits = now.refusedBy == "account" || now.refusedBy == "project";
    const qint64 refill = now.refusedBy == "account" ? m_limits.accountRefill : m_limits.projectRefill;
    const auto fields = m_redis.hash(now.refusedBy == "account" ? QuotaRedis::accountKey(ask.account)
                                                                : QuotaRedis::projectKey());
    const qint64 earlyUs = now.retryAfterMs * 1000 - roundingUs(refill);
    if (forUnits && !fields.contains("pace") && earlyUs > 0)
        QVERIFY(!m_redis.at(serverUs() + earlyUs, ask).granted);
    pass(now.retryAfterMs * 1000);
    const QuotaDecision after = m_redis.at(serverUs(), ask);
    QVERIFY2(after.granted, after.refusedBy);
    take(ask, after);
}

/// A key never expires before its bucket would be full, even at a quarter of the pace.
void TestQuotaProperty::checkExpiry(const QByteArray &account)
{
    if (!m_accounts[account].writtenUnderLimits)
        return;
    const auto fields = m_redis.hash(QuotaRedis::accountKey(account));
    const qint64 ttl = m_redis.integer({"PTTL", QuotaRedis::accountKey(account)});
    const double missing = double(m_limits.accountCapacity) * 1000 - fields["level_milli"].toDouble();
    QVERIFY2(double(ttl) >= 2 * 4.0 * missing * 60 / double(m_limits.accountRefill) - 1'000,
             QByteArray::number(ttl));
    QVERIFY2(ttl >= m_limits.keyTtlMs - 60'000, QByteArray::number(ttl));
}

void TestQuotaProperty::refundOne()
{
    if (m_grants.empty())
        return;
    const size_t number = size_t(between(0, qint64(m_grants.size()) - 1));
    const Grant grant = m_grants[number];
    const QuotaRefund refund = m_redis.refund(serverUs(), grant.cost, grant.serverUs, grant.account);
    ++m_calls;
    QVERIFY(refund.accountBack >= 0 && refund.accountBack <= grant.cost * 1000);
    QVERIFY(refund.projectBack >= 0 && refund.projectBack <= grant.cost * 1000);
    if (!refund.done)
        return;
    QCOMPARE(m_redis.refund(serverUs(), grant.cost, grant.serverUs, grant.account).reason,
             QByteArray("already"));
    Scope &account = m_accounts[grant.account];
    account.minutes.refunded(grant.ofAccount);
    m_project.minutes.refunded(grant.ofProject);
    account.levelMilli.reset();
    m_project.levelMilli.reset();
    for (Scope *scope : {&account, &m_project}) {
        if (scope->probeAtUs == grant.atUs)
            scope->probeAtUs = -1; // it may be another's now
    }
    m_grants.erase(m_grants.begin() + qsizetype(number));
}

void TestQuotaProperty::reportOne()
{
    ++m_calls;
    QuotaReport report;
    report.account = randomAccount();
    if (oneIn(2)) {
        report.verdict = "ok";
        report.scope = "";
        m_redis.report(serverUs(), report);
        for (Scope *scope : {&m_accounts[report.account], &m_project}) {
            if (scope->probeAtUs >= 0 && m_trueUs >= scope->frozenUntilUs)
                scope->frozen = false;
        }
        return;
    }
    report.scope = oneIn(4) ? "project" : "account";
    report.retryAfterMs = oneIn(2) ? 0 : between(1, 20'000);
    const QuotaFreeze freeze = m_redis.report(serverUs(), report);
    Scope &scope = report.scope == "project" ? m_project : m_accounts[report.account];
    QVERIFY(freeze.pace >= 250 && freeze.pace <= 700);
    scope.levelMilli.reset();
    if (!freeze.changed)
        return;
    QVERIFY(freeze.retryAfterMs >= 1'000);
    scope.frozen = true;
    scope.frozenUntilUs = freeze.untilUs - m_skewUs;
    scope.probeAtUs = -1;
}

double TestQuotaProperty::debtOf(const QByteArray &account)
{
    return std::max(0.0,
                    -double(m_redis.at(serverUs(), QuotaAsk(qint64(0)).of(account)).accountLevel) / 1000);
}

void TestQuotaProperty::changeLimits()
{
    const auto changed = [this](qint64 value, qint64 most) {
        return std::clamp(qint64(double(value) * double(between(20, 500)) / 100), qint64(1), most);
    };
    std::map<QByteArray, double> debts;
    for (const auto &[name, account] : m_accounts)
        debts[name] = debtOf(name);
    m_limits.accountCapacity = changed(m_limits.accountCapacity, 1'000'000);
    m_limits.accountRefill = changed(m_limits.accountRefill, 10'000'000);
    m_limits.projectCapacity = changed(m_limits.projectCapacity, 5'000'000);
    m_limits.projectRefill = changed(m_limits.projectRefill, 50'000'000);
    m_limits.keyTtlMs = keyTtlMs(m_limits);
    m_redis.publish(m_limits, "default", serverUs());
    for (auto &[name, account] : m_accounts) {
        account.minutes.limitsChanged(m_trueUs, m_limits.accountCapacity, m_limits.accountRefill,
                                      debts[name]);
        account.levelMilli.reset();
        account.writtenUnderLimits = false;
    }
    m_project.minutes.limitsChanged(m_trueUs, m_limits.projectCapacity, m_limits.projectRefill, 0);
    m_project.levelMilli.reset();
}

void TestQuotaProperty::stepTheClock()
{
    const qint64 stepUs =
        QList<qint64>{hourUs, -hourUs, between(1, 2'000'000), -between(1, 2'000'000)}[between(0, 3)];
    if (stepUs > 0) {
        for (auto &[name, account] : m_accounts)
            account.minutes.steppedForward(m_trueUs, debtOf(name));
        m_project.minutes.steppedForward(m_trueUs, 0);
    }
    m_skewUs += stepUs;
    m_hasStepped = true;
    pass(1);
}

void TestQuotaProperty::toldWaitsAddUpToTheRefill_data()
{
    QTest::addColumn<int>("round");
    for (int round = 0; round < 16; ++round)
        QTest::addRow("%d", round) << round;
}

/// Whoever always waits as told gets the whole refill in the long run.
void TestQuotaProperty::toldWaitsAddUpToTheRefill()
{
    m_redis.restart();
    QuotaLimits limits = randomLimits();
    limits.projectCapacity = 1'000'000'000;
    limits.projectRefill = 1'000'000'000;
    m_redis.setLimits(limits);
    // Large enough that a millisecond of rounding is below a thousandth of each wait, if the bucket allows it.
    const qint64 cost = std::clamp(limits.accountRefill / 50, qint64(1), limits.accountCapacity);
    m_redis.at(QuotaRedis::startUs, QuotaAsk(limits.accountCapacity));
    qint64 nowUs = QuotaRedis::startUs;
    qint64 granted = 0;
    while (granted < 300) {
        const QuotaDecision decision = m_redis.at(nowUs, QuotaAsk(cost));
        QVERIFY(decision.granted || decision.retryAfterMs > 0);
        granted += decision.granted;
        nowUs += decision.retryAfterMs * 1000;
    }
    const double exact =
        double(limits.accountRefill) * double(nowUs - QuotaRedis::startUs) / double(minuteUs);
    const double got = double(granted * cost);
    QVERIFY(got <= exact + 1);
    // A wait shorter than a second, which a small bucket enforces, is lengthened by up to a millisecond each time.
    const double rounding = double(roundingUs(limits.accountRefill))
        / (double(cost) * double(minuteUs) / double(limits.accountRefill));
    QVERIFY2(got >= exact * (1 - std::max(0.001, rounding)) - double(cost), QByteArray::number(got / exact));
}

QTEST_GUILESS_MAIN(TestQuotaProperty)
#include "tst_quota_property.moc"
