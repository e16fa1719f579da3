// SPDX-License-Identifier: Apache-2.0
// The built plugin, loaded from its file, between a scripted host and scripted buckets.
#include <tidekeeper/callback.h>
#include <tidekeeper/services.h>

#include <QtCore/QJsonArray>
#include <QtCore/QPluginLoader>
#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

class ScriptedBuckets final : public Buckets {
public:
    void publish(const QString &limiter, const QString &project, const QJsonObject &policy,
                 Reply *reply) override
    {
        published.append({limiter, project});
        policies[project] = policy;
        reply->finish(publication, {{u"warnings"_s, QJsonArray{u"Mind the gap."_s}}});
    }
    void acquire(const QString &, const QuotaRequest &request, QuotaReply *reply) override
    {
        asked = request;
        QuotaAnswer answer;
        answer.granted = true;
        reply->finish(Status::success(), answer);
    }

    Status publication;
    QList<std::pair<QString, QString>> published;
    QMap<QString, QJsonObject> policies;
    std::optional<QuotaRequest> asked;
};

class ScriptedHost final : public Host {
public:
    void *serviceByIid(const char *iid) override
    {
        return qstrcmp(iid, "dev.tidekeeper.Buckets/1") == 0 ? static_cast<Buckets *>(&buckets) : nullptr;
    }
    QJsonObject configuration() const override
    {
        return {{u"enforce"_s, true},     {u"fail_open"_s, false},          {u"local_fallback"_s, true},
                {u"bulk_reserve"_s, 0.5}, {u"project_bulk_reserve"_s, 0.2}, {u"send_slack"_s, 2'000},
                {u"key_ttl"_s, 3'600'000}};
    }
    QJsonObject projects() const override { return configured; }
    void log(int level, const QString &text) override { logged.append({level, text}); }

    ScriptedBuckets buckets;
    QJsonObject configured{{u"default"_s, QJsonObject{}},
                           {u"old"_s, QJsonObject{{u"preset"_s, u"gmail-legacy"_s}}}};
    QList<std::pair<int, QString>> logged;
};

} // namespace

class TestPlugin : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void publishesEveryProject();
    void doesNotStartWithARefusedPolicy();
    void doesNotInitializeWithABadProject();
    void asksWithTheCostOfTheMethod_data();
    void asksWithTheCostOfTheMethod();
    void refusesBeforeItAsks_data();
    void refusesBeforeItAsks();

private:
    Status start();
    Status acquire(const QuotaRequest &request);

    QObject *m_root = nullptr;
    Plugin *m_plugin = nullptr;
    RateLimiter *m_limiter = nullptr;
    std::unique_ptr<ScriptedHost> m_host;
};

void TestPlugin::init()
{
    delete m_root; // the loader makes a fresh one
    QPluginLoader loader(QStringLiteral(TIDEKEEPER_BINARY_DIR "/lib/tidekeeper/plugins/gmail-quota.so"));
    m_root = loader.instance();
    QVERIFY2(m_root, qPrintable(loader.errorString()));
    m_plugin = qobject_cast<Plugin *>(m_root);
    m_limiter = qobject_cast<RateLimiter *>(m_root);
    QVERIFY(m_plugin && m_limiter);
    m_host = std::make_unique<ScriptedHost>();
}

Status TestPlugin::start()
{
    Status ended = Status::failure(u"unanswered"_s, {});
    m_plugin->start(whenDone(this, [&](const Status &status, const QJsonObject &) { ended = status; }));
    return ended;
}

Status TestPlugin::acquire(const QuotaRequest &request)
{
    Status ended = Status::failure(u"unanswered"_s, {});
    m_limiter->acquire(request,
                       whenDecided(this, [&](const Status &status, const QuotaAnswer &) { ended = status; }));
    return ended;
}

void TestPlugin::publishesEveryProject()
{
    QVERIFY(m_plugin->initialize(m_host.get()).ok());
    QVERIFY(start().ok());
    const QList<std::pair<QString, QString>> both{{u"gmail"_s, u"default"_s}, {u"gmail"_s, u"old"_s}};
    QCOMPARE(m_host->buckets.published, both);
    const QJsonObject policy = m_host->buckets.policies[u"old"_s];
    QCOMPARE(policy["account_capacity"_L1].toInt(), 900);
    QCOMPARE(policy["published_account"_L1].toInt(), 15'000);
    QCOMPARE(policy["key_ttl_ms"_L1].toInt(), 3'600'000);
    QCOMPARE(policy["fail_open"_L1], QJsonValue(false));
    QCOMPARE(m_host->logged.size(), 2);
    QCOMPARE(m_host->logged[0], std::pair(2, u"Mind the gap."_s));

    const QJsonObject described = m_limiter->describe();
    QCOMPARE(described["name"_L1].toString(), u"gmail"_s);
    const QJsonObject old = described["projects"_L1]["old"_L1].toObject();
    QCOMPARE(old["preset"_L1].toString(), u"gmail-legacy"_s);
    QCOMPARE(old["account_refill_per_minute"_L1].toInt(), 13'625);
    QCOMPARE(old["warnings"_L1].toArray(), QJsonArray{u"Mind the gap."_s});
}

void TestPlugin::doesNotStartWithARefusedPolicy()
{
    QVERIFY(m_plugin->initialize(m_host.get()).ok());
    m_host->buckets.publication = Status::failure(u"invalid_policy"_s, u"key_ttl_ms must be longer."_s);
    QCOMPARE(start().code, u"invalid_policy"_s);
    QCOMPARE(m_host->buckets.published.size(), 1);
}

void TestPlugin::doesNotInitializeWithABadProject()
{
    m_host->configured[u"mine"_s] = QJsonObject{{u"preset"_s, u"custom"_s}};
    QCOMPARE(m_plugin->initialize(m_host.get()).code, u"bad_configuration"_s);
}

void TestPlugin::asksWithTheCostOfTheMethod_data()
{
    QTest::addColumn<QString>("project");
    QTest::addColumn<qint64>("cost");
    QTest::newRow("default") << QString() << qint64(120);
    QTest::newRow("legacy") << u"old"_s << qint64(30);
}

void TestPlugin::asksWithTheCostOfTheMethod()
{
    QFETCH(QString, project);
    QFETCH(qint64, cost);

    QVERIFY(m_plugin->initialize(m_host.get()).ok());
    QuotaRequest request;
    request.account = u"a@example.com"_s;
    request.project = project;
    request.method = u"gmail.users.threads.get"_s;
    request.count = 3;
    request.lane = u"bulk"_s;
    request.maxWaitMs = 5;
    request.id = u"x"_s;
    QVERIFY(acquire(request).ok());
    QCOMPARE(m_host->buckets.asked->cost, cost);
    QCOMPARE(m_host->buckets.asked->project, project.isEmpty() ? u"default"_s : project);
    QCOMPARE(m_host->buckets.asked->account, request.account);
    QCOMPARE(m_host->buckets.asked->lane, request.lane);
    QCOMPARE(m_host->buckets.asked->maxWaitMs, request.maxWaitMs);
    QCOMPARE(m_host->buckets.asked->id, request.id);
}

void TestPlugin::refusesBeforeItAsks_data()
{
    QTest::addColumn<QString>("project");
    QTest::addColumn<QString>("method");
    QTest::addColumn<QString>("code");
    QTest::newRow("project") << u"new"_s << u"gmail.users.watch"_s << u"unknown_project"_s;
    QTest::newRow("method") << u"old"_s << u"gmail.users.watches"_s << u"unknown_method"_s;
    QTest::newRow("nothing") << u"old"_s << QString() << u"invalid_request"_s;
}

void TestPlugin::refusesBeforeItAsks()
{
    QFETCH(QString, project);
    QFETCH(QString, method);
    QFETCH(QString, code);

    QVERIFY(m_plugin->initialize(m_host.get()).ok());
    QuotaRequest request;
    request.account = u"a@example.com"_s;
    request.project = project;
    request.method = method;
    QCOMPARE(acquire(request).code, code);
    QVERIFY(!m_host->buckets.asked);
}

QTEST_APPLESS_MAIN(TestPlugin)
#include "tst_plugin.moc"
