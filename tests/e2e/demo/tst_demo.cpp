// SPDX-License-Identifier: Apache-2.0
#include "demo/demo.h"
#include "google/httpfront.h"
#include "google/quota/slidingwindow.h"
#include "google/simulator.h"

#include <QCoro/QCoroTask>
#include <QtCore/QJsonDocument>
#include <QtCore/QRegularExpression>
#include <QtTest/QTest>

using namespace tidekeeper;
using namespace tidekeeper::demo;
using namespace Qt::StringLiterals;

namespace {

using googlesim::Answer;
using googlesim::Call;

/// An engine of the least kind: renews each account as it is imported, and grants from a window of its own.
class FakeEngine {
public:
    explicit FakeEngine(googlesim::Simulator &google) : m_google(google) { }

    bool renews = true;
    bool limits = true;
    int refunds = 0;
    qint64 waitMs = 0; ///< in each grant
    bool frozen = false;

    Answer handle(const Call &call)
    {
        if (call.headers.value("authorization") != "Bearer secret")
            return Answer::json({{u"detail"_s, u"No token."_s}}, 401);
        if (call.path.endsWith(u"/import"_s))
            return import(call.body);
        if (call.path.endsWith(u"/refund"_s)) {
            ++refunds;
            return Answer::json({});
        }
        return acquire(QJsonDocument::fromJson(call.body).object());
    }

private:
    Answer import(const QByteArray &body)
    {
        const QList<QByteArray> lines = body.trimmed().split('\n');
        for (const QByteArray &line : lines) {
            if (renews)
                renew(QJsonDocument::fromJson(line).object());
        }
        return Answer::json({{u"created"_s, lines.size()}, {u"errors"_s, QJsonArray()}});
    }

    void renew(const QJsonObject &account)
    {
        const QString email = account[u"email"].toString();
        const QStringList scopes{u"https://www.googleapis.com/auth/gmail.modify"_s};
        const QString token = m_google.world.issue({email, u"demo-project"_s, scopes, {}});
        Call watch{"POST", u"/gmail/v1/users/me/watch"_s, {}, {}, {}};
        watch.headers.insert("authorization", "Bearer " + token.toLatin1());
        watch.headers.insert("content-type", "application/json");
        watch.body = R"({"topicName":"projects/demo-project/topics/gmail"})";
        m_google.handle(watch);
    }

    Answer acquire(const QJsonObject &request)
    {
        if (request[u"cost"].isDouble()) // of cost 0: is it still open?
            return frozen ? refusal(50) : Answer::json({{u"granted"_s, true}, {u"wait_ms"_s, 0}});
        const auto cost = googlesim::costOf(request[u"method"].toString(), googlesim::Preset::Gmail2026);
        const qint64 units = cost.value();
        const qint64 nowUs = m_google.clock.monotonicUs();
        if (limits && m_window.sum(nowUs) + units > 300)
            return refusal(100);
        m_window.add(nowUs, units);
        return Answer::json({{u"granted"_s, true}, {u"wait_ms"_s, waitMs}, {u"grant_id"_s, u"g"_s}});
    }

    static Answer refusal(int retryMs)
    {
        return Answer::json(
            {{u"code"_s, u"quota_refused"_s}, {u"granted"_s, false}, {u"retry_after_ms"_s, retryMs}}, 429);
    }

    googlesim::Simulator &m_google;
    googlesim::SlidingWindow m_window{
        5'000'000}; // 300 units in 5 s: 3,600 a minute, under half the limit in 18 s
};

struct Stage {
    googlesim::Simulator google;
    FakeEngine engine{google};
    googlesim::HttpFront googleFront{[this](const Call &call) { return google.handle(call); }};
    googlesim::HttpFront engineFront{[this](const Call &call) { return engine.handle(call); }};
    QStringList lines;

    Options options()
    {
        googleFront.listen(QHostAddress::LocalHost, 0);
        engineFront.listen(QHostAddress::LocalHost, 0);
        Options given;
        given.engine = engineFront.url();
        given.engineToken = "secret";
        given.google = googleFront.url();
        given.accounts = 20;
        given.seconds = 3;
        given.patienceSeconds = 1;
        given.reportEverySeconds = 1;
        return given;
    }
    Result<Outcome> play(const Options &given)
    {
        Demo demonstration(given, [this](const QString &line) { lines << line; });
        return QCoro::waitFor(demonstration.run());
    }
    Result<Outcome> play() { return play(options()); }
};

} // namespace

class TestDemo : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void allIsWell();
    void withoutRenewalsItFails();
    void withoutALimiterGoogleRefuses();
    void frozenGrantsAreGivenBack();
    void noSceneIsSaid();
    void verdict_data();
    void verdict();
};

void TestDemo::allIsWell()
{
    Stage stage;
    const auto outcome = stage.play();
    QVERIFY(outcome.has_value());
    QVERIFY2(outcome->good(), qPrintable(outcome->summary()));
    QCOMPARE(outcome->renewed, 20);
    QVERIFY(outcome->tally.granted >= 10);
    QVERIFY(outcome->tally.refused > 0);
    QCOMPARE(outcome->limit, 6'000);
    QVERIFY(outcome->worstMinute > 100);
    const QRegularExpression line(
        u"^ +\\d+ s  renewed 20/20   quota: granted \\d+, refused by the limiter \\d+, \\d+ units in the last minute"_s);
    QVERIFY2(stage.lines.indexOf(line) >= 0, qPrintable(stage.lines.join(u'\n')));
}

void TestDemo::withoutRenewalsItFails()
{
    Stage stage;
    stage.engine.renews = false;
    const auto outcome = stage.play();
    QVERIFY(outcome.has_value());
    QCOMPARE(outcome->renewed, 0);
    QVERIFY(!outcome->good());
}

void TestDemo::withoutALimiterGoogleRefuses()
{
    Stage stage;
    stage.engine.limits = false;
    stage.google.world.settings.latencyMs = 0;
    stage.google.world.settings.userLimitPerMinute = 1'000;
    const auto outcome = stage.play();
    QVERIFY(outcome.has_value());
    QVERIFY(outcome->refusedByGoogle > 0);
    QVERIFY(outcome->worstMinute <= 1'000);
    QVERIFY(!outcome->good());
}

/// Whoever waited for more than a second looks whether the account was frozen meanwhile, and then sends nothing.
void TestDemo::frozenGrantsAreGivenBack()
{
    Stage stage;
    stage.engine.waitMs = 1'100;
    stage.engine.frozen = true;
    const auto outcome = stage.play();
    QVERIFY(outcome.has_value());
    QVERIFY(stage.engine.refunds > 0);
    QCOMPARE(outcome->tally.gmailCalls, 0);
    QVERIFY(!outcome->good());
}

void TestDemo::noSceneIsSaid()
{
    Stage stage;
    Options options = stage.options();
    options.engineToken = "wrong";
    const auto refused = stage.play(options);
    QVERIFY(!refused.has_value());
    QVERIFY2(refused.error().text.contains(u"HTTP 401: No token."_s), qPrintable(refused.error().text));
    options.google = u"http://127.0.0.1:9"_s;
    QVERIFY(!stage.play(options).has_value());
}

void TestDemo::verdict_data()
{
    QTest::addColumn<QString>("field"); // of the one account
    QTest::addColumn<QJsonValue>("value");
    QTest::addColumn<qint64>("granted");
    QTest::addColumn<qint64>("failed");
    QTest::addColumn<bool>("good");
    QTest::newRow("all well") << u"x"_s << QJsonValue(0) << 5LL << 0LL << true;
    QTest::newRow("lapsed") << u"lapses"_s << QJsonValue(1) << 5LL << 0LL << false;
    QTest::newRow("refused") << u"refused"_s << QJsonValue(1) << 5LL << 0LL << false;
    QTest::newRow("not renewed") << u"watches"_s << QJsonValue(QJsonArray()) << 5LL << 0LL << false;
    QTest::newRow("nothing granted") << u"x"_s << QJsonValue(0) << 0LL << 0LL << false;
    QTest::newRow("failed calls") << u"x"_s << QJsonValue(0) << 5LL << 1LL << false;
    QTest::newRow("not of the project") << u"project_id"_s << QJsonValue(u"else"_s) << 5LL << 0LL << false;
}

void TestDemo::verdict()
{
    QFETCH(QString, field);
    QFETCH(QJsonValue, value);
    QFETCH(qint64, granted);
    QFETCH(qint64, failed);
    QFETCH(bool, good);
    QJsonObject account{{u"project_id"_s, u"p"_s}, {u"watches"_s, QJsonArray{QJsonObject()}}};
    account.insert(field, value);
    Tally tally;
    tally.granted = granted;
    tally.gmailFailed = failed;
    QCOMPARE(outcomeOf({{u"accounts"_s, QJsonArray{account}}}, u"p"_s, u"a"_s, tally).good(), good);
}

QTEST_GUILESS_MAIN(TestDemo)
#include "tst_demo.moc"
