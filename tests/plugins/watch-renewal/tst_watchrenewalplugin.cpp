// SPDX-License-Identifier: Apache-2.0
// The plugin as it is loaded, against a host and a Gmail of the test.
#include "support/fakeclock.h"

#include <tidekeeper/callback.h>
#include <tidekeeper/services.h>

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QPluginLoader>
#include <QtTest/QTest>

#include <functional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

constexpr qint64 dayMs = 24LL * 3'600'000;

class FakeHttp final : public Http {
public:
    void send(const QJsonObject &request, Reply *reply) override
    {
        requests.append(request);
        if (failure.ok())
            reply->finish(Status::success(), answers.takeFirst());
        else
            reply->finish(failure, {});
    }

    QList<QJsonObject> requests;
    QList<QJsonObject> answers;
    Status failure;
};

class FakeHost final : public Host {
public:
    void *serviceByIid(const char *iid) override
    {
        if (qstrcmp(iid, "dev.tidekeeper.Clock/1") == 0)
            return static_cast<Clock *>(&clock);
        return qstrcmp(iid, "dev.tidekeeper.Http/1") == 0 ? static_cast<Http *>(&http) : nullptr;
    }
    QJsonObject configuration() const override { return section; }
    QJsonObject projects() const override
    {
        return {{u"default"_s, QJsonObject{{u"topic"_s, u"projects/p/topics/t"_s}}},
                {u"bare"_s, QJsonObject{}}};
    }
    void log(int, const QString &) override { }

    test::FakeClock clock;
    FakeHttp http;
    QJsonObject section;
};

QJsonObject answer(int status, const QString &body)
{
    return {{u"status"_s, status}, {u"headers"_s, QJsonObject{}}, {u"body"_s, body}};
}

QJsonObject ownedElsewhere()
{
    const QJsonObject error{
        {u"code"_s, 400},
        {u"message"_s,
         u"Only one user push notification client allowed per developer (call /stop then try again)"_s}};
    return answer(400, QString::fromUtf8(QJsonDocument(QJsonObject{{u"error"_s, error}}).toJson()));
}

QJsonObject watched()
{
    return answer(200, uR"({"historyId":"77","expiration":"1800604800000"})"_s);
}

} // namespace

class TestWatchRenewalPlugin : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init();

    void describesItself();
    void sendsTheWatch();
    void noTopicCallsNothing();
    void anotherTopicIsTakenOverOnce();
    void foreignWatchIsLeftAlone();
    void fightEndsAtTheSecondAnswer();
    void failedStopDoesNotWatch();
    void watchThatFailsAfterTheStopIsToldAsEnded();
    void takeOverIsDoneWhenAsked();
    void repairStopsFirstAndOnce();
    void badTopicOfItsOwnIsTheAccountsFault();
    void removeStops();
    void noAnswerIsTransient();
    void callsShareOneDeadline();

private:
    QJsonObject call(bool renew, const QJsonObject &subscription)
    {
        QJsonObject outcome;
        Reply *reply = whenDone(this, [&](const Status &status, const QJsonObject &result) {
            QVERIFY(status.ok());
            outcome = result;
        });
        if (renew)
            m_provider->renew(subscription, u"ya29.token"_s, reply);
        else
            m_provider->remove(subscription, u"ya29.token"_s, reply);
        return outcome;
    }
    QJsonObject subscription(qint64 expiresInMs, const QJsonObject &data = {}) const
    {
        return {{u"id"_s, u"a/gmail"_s},
                {u"project"_s, u"default"_s},
                {u"expires_at"_s, m_host->clock.nowMs() + expiresInMs},
                {u"data"_s, data}};
    }
    QStringList paths() const
    {
        QStringList paths;
        for (const QJsonObject &request : m_host->http.requests)
            paths.append(request.value("path"_L1).toString());
        return paths;
    }

    const QString m_watch = u"/gmail/v1/users/me/watch"_s;
    const QString m_stop = u"/gmail/v1/users/me/stop"_s;
    std::unique_ptr<FakeHost> m_host;
    Plugin *m_plugin = nullptr;
    SubscriptionProvider *m_provider = nullptr;
};

void TestWatchRenewalPlugin::initTestCase()
{
    QPluginLoader loader(QStringLiteral(PLUGIN_FILE));
    QVERIFY2(loader.load(), qPrintable(loader.errorString()));
    m_plugin = qobject_cast<Plugin *>(loader.instance());
    m_provider = qobject_cast<SubscriptionProvider *>(loader.instance());
    QVERIFY(m_plugin && m_provider);
}

void TestWatchRenewalPlugin::init()
{
    m_host = std::make_unique<FakeHost>();
    QVERIFY(m_plugin->initialize(m_host.get()).ok());
}

void TestWatchRenewalPlugin::describesItself()
{
    const QJsonObject description = m_provider->describe();
    QCOMPARE(description.value("provider"_L1).toString(), u"gmail"_s);
    QCOMPARE(description.value("lifetime_ms"_L1).toInteger(), 7 * dayMs);
    QCOMPARE(description.value("window_ms"_L1).toInteger(), 6 * dayMs);
    QCOMPARE(description.value("limiter"_L1).toString(), u"gmail"_s);
    QCOMPARE(description.value("method"_L1).toString(), u"gmail.users.watch"_s);
    m_host->section = {{u"window"_s, 7 * dayMs}};
    QCOMPARE(m_plugin->initialize(m_host.get()).code, u"bad_configuration"_s);
}

void TestWatchRenewalPlugin::sendsTheWatch()
{
    m_host->http.answers = {watched()};
    const QJsonObject data{{u"label_ids"_s, QJsonArray{u"INBOX"_s}},
                           {u"label_filter_behavior"_s, u"include"_s}};
    const QJsonObject outcome = call(true, subscription(dayMs, data));
    QCOMPARE(outcome.value("outcome"_L1).toString(), u"renewed"_s);
    QCOMPARE(outcome.value("expires_at"_L1).toInteger(), 1'800'604'800'000);
    const QJsonObject request = m_host->http.requests.first();
    QCOMPARE(request.value("method"_L1).toString(), u"POST"_s);
    QCOMPARE(request.value("base"_L1).toString(), u"gmail"_s);
    QCOMPARE(request.value("path"_L1).toString(), m_watch);
    QCOMPARE(request.value("bearer"_L1).toString(), u"ya29.token"_s);
    const QJsonObject body = QJsonDocument::fromJson(request.value("body"_L1).toString().toUtf8()).object();
    QCOMPARE(body,
             (QJsonObject{{u"topicName"_s, u"projects/p/topics/t"_s},
                          {u"labelIds"_s, QJsonArray{u"INBOX"_s}},
                          {u"labelFilterBehavior"_s, u"INCLUDE"_s}}));
}

void TestWatchRenewalPlugin::noTopicCallsNothing()
{
    QJsonObject row = subscription(dayMs);
    row.insert(u"project"_s, u"bare"_s);
    const QJsonObject outcome = call(true, row);
    QCOMPARE(outcome.value("outcome"_L1).toString(), u"configuration"_s);
    QVERIFY(m_host->http.requests.isEmpty());
}

void TestWatchRenewalPlugin::anotherTopicIsTakenOverOnce()
{
    // Eagnir/GmailNotify-PubSub-GCP#2: watch refused on every renewal until stop was called.
    m_host->http.answers = {ownedElsewhere(), answer(204, {}), watched()};
    const QJsonObject outcome = call(true, subscription(dayMs));
    QCOMPARE(paths(), (QStringList{m_watch, m_stop, m_watch}));
    QCOMPARE(outcome.value("outcome"_L1).toString(), u"renewed"_s);
    QCOMPARE(outcome.value("data"_L1).toObject().value("taken_over_at"_L1).toInteger(),
             m_host->clock.nowMs());
}

void TestWatchRenewalPlugin::foreignWatchIsLeftAlone()
{
    m_host->http.answers = {ownedElsewhere()};
    QCOMPARE(call(true, subscription(-dayMs)).value("outcome"_L1).toString(), u"owned_elsewhere"_s);
    QCOMPARE(paths(), QStringList{m_watch});
}

void TestWatchRenewalPlugin::fightEndsAtTheSecondAnswer()
{
    m_host->http.answers = {ownedElsewhere()};
    const QJsonObject data{{u"taken_over_at"_s, m_host->clock.nowMs() - dayMs}};
    QCOMPARE(call(true, subscription(6 * dayMs, data)).value("outcome"_L1).toString(), u"owned_elsewhere"_s);
    QCOMPARE(paths(), QStringList{m_watch});
    m_host->http.answers = {ownedElsewhere(), answer(200, {}), ownedElsewhere()};
    QCOMPARE(call(true, subscription(6 * dayMs)).value("outcome"_L1).toString(), u"owned_elsewhere"_s);
    QCOMPARE(paths().size(), 4); // no second stop
}

void TestWatchRenewalPlugin::failedStopDoesNotWatch()
{
    m_host->http.answers = {ownedElsewhere(), answer(503, {})};
    QCOMPARE(call(true, subscription(dayMs)).value("outcome"_L1).toString(), u"transient"_s);
    QCOMPARE(paths(), (QStringList{m_watch, m_stop}));
}

void TestWatchRenewalPlugin::watchThatFailsAfterTheStopIsToldAsEnded()
{
    m_host->http.answers = {ownedElsewhere(), answer(204, {}), answer(503, {})};
    const QJsonObject outcome = call(true, subscription(dayMs));
    QCOMPARE(paths(), (QStringList{m_watch, m_stop, m_watch}));
    QCOMPARE(outcome.value("outcome"_L1).toString(), u"transient"_s);
    QCOMPARE(outcome.value("ended_at"_L1).toInteger(), m_host->clock.nowMs());
    QCOMPARE(outcome.value("data"_L1).toObject().value("taken_over_at"_L1).toInteger(),
             m_host->clock.nowMs());
}

void TestWatchRenewalPlugin::takeOverIsDoneWhenAsked()
{
    m_host->http.answers = {ownedElsewhere(), answer(204, {}), watched()};
    QJsonObject row = subscription(-dayMs);
    row.insert(u"take_over"_s, true);
    QCOMPARE(call(true, row).value("outcome"_L1).toString(), u"renewed"_s);
    QCOMPARE(paths(), (QStringList{m_watch, m_stop, m_watch}));
    // Refused again all the same: it ends there.
    m_host->http.answers = {ownedElsewhere(), answer(204, {}), ownedElsewhere()};
    const QJsonObject outcome = call(true, row);
    QCOMPARE(outcome.value("outcome"_L1).toString(), u"owned_elsewhere"_s);
    QVERIFY(outcome.value("remedy"_L1).toString().contains(u"projects/p/topics/t"_s));
    QCOMPARE(paths().size(), 6);
}

void TestWatchRenewalPlugin::repairStopsFirstAndOnce()
{
    // Nine-Minds/alga-psa#859: watch alone renewed what pushed nothing, and it went on pushing nothing.
    m_host->http.answers = {answer(204, {}), watched()};
    QJsonObject row = subscription(6 * dayMs);
    row.insert(u"repair"_s, true);
    const QJsonObject outcome = call(true, row);
    QCOMPARE(paths(), (QStringList{m_stop, m_watch}));
    QCOMPARE(outcome.value("outcome"_L1).toString(), u"renewed"_s);
    row.insert(u"data"_s, outcome.value("data"_L1));
    m_host->http.answers = {watched()};
    call(true, row);
    QCOMPARE(paths(), (QStringList{m_stop, m_watch, m_watch}));
}

void TestWatchRenewalPlugin::badTopicOfItsOwnIsTheAccountsFault()
{
    const QJsonObject error{
        {u"message"_s, u"Error sending test message to Cloud PubSub projects/p/topics/own: no right"_s}};
    const QString body = QString::fromUtf8(QJsonDocument(QJsonObject{{u"error"_s, error}}).toJson());
    m_host->http.answers = {answer(403, body), answer(403, body)};
    const QJsonObject own{{u"topic"_s, u"projects/p/topics/own"_s}};
    QCOMPARE(call(true, subscription(dayMs, own)).value("outcome"_L1).toString(), u"account"_s);
    QCOMPARE(call(true, subscription(dayMs)).value("outcome"_L1).toString(), u"configuration"_s);
}

void TestWatchRenewalPlugin::removeStops()
{
    m_host->http.answers = {answer(204, {})};
    QCOMPARE(call(false, subscription(dayMs)).value("outcome"_L1).toString(), u"gone"_s);
    QCOMPARE(paths(), QStringList{m_stop});
    QVERIFY(m_host->http.requests.first().value("body"_L1).toString().isEmpty());
}

void TestWatchRenewalPlugin::noAnswerIsTransient()
{
    m_host->http.failure = Status::failure(u"timeout"_s, u"No answer."_s);
    const QJsonObject outcome = call(true, subscription(dayMs));
    QCOMPARE(outcome.value("outcome"_L1).toString(), u"transient"_s);
    QCOMPARE(outcome.value("code"_L1).toString(), u"timeout"_s);
}

void TestWatchRenewalPlugin::callsShareOneDeadline()
{
    m_host->http.answers = {ownedElsewhere(), answer(204, {}), watched()};
    call(true, subscription(dayMs));
    for (const QJsonObject &request : std::as_const(m_host->http.requests)) {
        const qint64 deadlineMs = request.value("deadline_ms"_L1).toInteger();
        QVERIFY(deadlineMs > 0 && deadlineMs < 10'000);
    }
}

QTEST_GUILESS_MAIN(TestWatchRenewalPlugin)
#include "tst_watchrenewalplugin.moc"
