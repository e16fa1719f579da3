// SPDX-License-Identifier: Apache-2.0
#include "pluginscene.h"

using namespace pluginscene;

class TestPlugin : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void publishesEveryProject();
    void doesNotStartWithARefusedPolicy();
    void doesNotInitializeWithABadProject();
    void schemaAndCodeAgree();
    void asksWithTheCostOfTheMethod_data();
    void asksWithTheCostOfTheMethod();
    void refusesBeforeItAsks_data();
    void refusesBeforeItAsks();

private:
    static Status acquire(Scene &scene, const QuotaRequest &request);
};

Status TestPlugin::acquire(Scene &scene, const QuotaRequest &request)
{
    Status ended = Status::failure(u"unanswered"_s, {});
    QObject context;
    scene.limiter->acquire(
        request, whenDecided(&context, [&](const Status &status, const QuotaAnswer &) { ended = status; }));
    return ended;
}

void TestPlugin::publishesEveryProject()
{
    Scene scene;
    QVERIFY(scene.run().ok());
    const QList<std::pair<QString, QString>> both{{u"gmail"_s, u"default"_s}, {u"gmail"_s, u"old"_s}};
    QCOMPARE(scene.host.buckets.published, both);
    const QJsonObject policy = scene.host.buckets.policies[u"old"_s];
    QCOMPARE(policy["account_capacity"_L1].toInt(), 900);
    QCOMPARE(policy["published_account"_L1].toInt(), 15'000);
    QCOMPARE(policy["key_ttl_ms"_L1].toInt(), 3'600'000);
    QCOMPARE(policy["fail_open"_L1], QJsonValue(false));
    QCOMPARE(policy["method_families"_L1]["gmail.users.drafts.send"_L1].toString(), u"mail_sending"_s);
    QCOMPARE(scene.host.logged.size(), 2);
    QCOMPARE(scene.host.logged[0], std::pair(2, u"Mind the gap."_s));

    const QJsonObject described = scene.limiter->describe();
    QCOMPARE(described["name"_L1].toString(), u"gmail"_s);
    const QJsonObject old = described["projects"_L1]["old"_L1].toObject();
    QCOMPARE(old["preset"_L1].toString(), u"gmail-legacy"_s);
    QCOMPARE(old["account_refill_per_minute"_L1].toInt(), 13'625);
    QCOMPARE(old["warnings"_L1].toArray(), QJsonArray{u"Mind the gap."_s});
}

void TestPlugin::doesNotStartWithARefusedPolicy()
{
    Scene scene;
    scene.host.buckets.refusals[u"default"_s] = Status::failure(u"invalid_policy"_s, u"Not so."_s);
    QCOMPARE(scene.run().code, u"invalid_policy"_s);
    QCOMPARE(scene.host.buckets.published.size(), 1);
}

void TestPlugin::doesNotInitializeWithABadProject()
{
    Scene scene;
    scene.host.configured[u"mine"_s] = QJsonObject{{u"preset"_s, u"custom"_s}};
    QCOMPARE(scene.run().code, u"bad_configuration"_s);
    QVERIFY(scene.host.buckets.published.isEmpty());
}

/// The section is checked by the schema in the metadata, what operators change by the code.
void TestPlugin::schemaAndCodeAgree()
{
    Scene scene;
    const QJsonObject properties = scene.metadata()["ConfigSchema"_L1]["properties"_L1].toObject();
    QJsonObject defaults;
    for (auto property = properties.begin(); property != properties.end(); ++property)
        defaults[property.key()] = property.value()["default"_L1];
    scene.host.section = defaults;
    QVERIFY(scene.run().ok());
    const auto accepts = [&](const QString &key, const QJsonValue &value) {
        const auto dryRun = [&](Reply *reply) { scene.live->adjust({{key, value}}, true, reply); };
        return scene.call(dryRun).status.ok();
    };
    const QJsonObject described = scene.limiter->describe();
    const QStringList known = described["sources"_L1].toObject().keys();
    QCOMPARE(known.size(), properties.size() + 1); // and "projects"
    for (auto property = properties.begin(); property != properties.end(); ++property) {
        const QString key = property.key();
        const QJsonValue schema = property.value();
        QCOMPARE(described["sources"_L1][key].toString(), u"default"_s);
        QCOMPARE(described[key], schema["default"_L1]);
        const bool isForStartOnly = schema["type"_L1] == QJsonValue(u"string"_s);
        QVERIFY2(accepts(key, schema["default"_L1]) != isForStartOnly, qPrintable(key));
        if (isForStartOnly || schema["type"_L1] == QJsonValue(u"boolean"_s))
            continue;
        const double step = schema["type"_L1] == QJsonValue(u"integer"_s) ? 1 : 0.001;
        QVERIFY2(accepts(key, schema["minimum"_L1]), qPrintable(key));
        QVERIFY2(accepts(key, schema["maximum"_L1]), qPrintable(key));
        QVERIFY2(!accepts(key, schema["minimum"_L1].toDouble() - step), qPrintable(key));
        QVERIFY2(!accepts(key, schema["maximum"_L1].toDouble() + step), qPrintable(key));
    }
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

    Scene scene;
    QVERIFY(scene.run().ok());
    QuotaRequest request;
    request.account = u"a@example.com"_s;
    request.project = project;
    request.method = u"gmail.users.threads.get"_s;
    request.count = 3;
    request.lane = u"bulk"_s;
    request.maxWaitMs = 5;
    request.id = u"x"_s;
    QVERIFY(acquire(scene, request).ok());
    const QuotaRequest &asked = *scene.host.buckets.asked;
    QCOMPARE(asked.cost, cost);
    QCOMPARE(asked.project, project.isEmpty() ? u"default"_s : project);
    QCOMPARE(asked.account, request.account);
    QCOMPARE(asked.method, request.method); // tells its family
    QCOMPARE(asked.lane, request.lane);
    QCOMPARE(asked.maxWaitMs, request.maxWaitMs);
    QCOMPARE(asked.id, request.id);
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

    Scene scene;
    QVERIFY(scene.run().ok());
    QuotaRequest request;
    request.account = u"a@example.com"_s;
    request.project = project;
    request.method = method;
    QCOMPARE(acquire(scene, request).code, code);
    QVERIFY(!scene.host.buckets.asked);
}

QTEST_APPLESS_MAIN(TestPlugin)
#include "tst_plugin.moc"
