// SPDX-License-Identifier: Apache-2.0
#include "http/pluginscontroller.h"
#include "pluginscene.h"
#include "protocol/pluginview.h"

#include <QCoro/QCoroTask>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using tidekeeper::test::PluginScene;

class TestPluginsController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void showsEveryPlugin();
};

void TestPluginsController::showsEveryPlugin()
{
    PluginScene scene;
    scene.put({u"good"_s, u"dependent"_s, u"bad-metadata"_s, u"late-start"_s, u"marker"_s});
    scene.start();
    scene.stop(); // the late start is answered now

    http::Router router;
    http::PluginsController controller(router, scene.host());
    const Result<http::Router::Match> match = router.match(http::Method::Get, u"/api/v1/plugins"_s);
    QVERIFY(match);
    QCOMPARE(int(match->role), int(http::Role::Viewer));
    const http::Response response = QCoro::waitFor((*match->handler)(http::Request{}));
    QCOMPARE(response.status, 200);

    const QJsonObject json = QJsonDocument::fromJson(response.body).object();
    const QStringList keys{u"dependencies"_s, u"description"_s,  u"enabled"_s, u"file"_s,
                           u"id"_s,           u"late_answers"_s, u"license"_s, u"name"_s,
                           u"needs"_s,        u"provides"_s,     u"reason"_s,  u"remedy"_s,
                           u"sdk_version"_s,  u"state"_s,        u"text"_s,    u"version"_s};
    QCOMPARE(json[u"plugins"_s][0].toObject().keys(), keys);

    const QList<protocol::PluginView> plugins = protocol::pluginsFrom(json);
    QCOMPARE(plugins.size(), 5);
    const protocol::PluginView &bad = plugins[0];
    QCOMPARE(bad.id, u"bad-metadata"_s);
    QCOMPARE(bad.state + u' ' + bad.reason, u"failed bad_metadata"_s);
    QVERIFY(!bad.text.isEmpty() && !bad.remedy.isEmpty() && bad.version.isEmpty());
    const protocol::PluginView &dependent = plugins[1];
    QCOMPARE(dependent.dependencies.size(), 1);
    QCOMPARE(dependent.dependencies[0].id + u' ' + dependent.dependencies[0].version, u"good 1.1.5"_s);
    const protocol::PluginView &good = plugins[2];
    QCOMPARE(good.state + good.reason, u"stopped"_s);
    QCOMPARE(good.version + u' ' + good.sdkVersion, u"1.2.0 1.0.0"_s);
    QCOMPARE(good.provides, QStringList{u"dev.tidekeeper.JobHandler/1"_s});
    QCOMPARE(good.needs, QStringList{u"dev.tidekeeper.Clock/1"_s});
    QVERIFY(good.file.endsWith("/good.so"_L1) && good.enabled);
    QCOMPARE(plugins[3].lateAnswers, 1);
    QVERIFY(!plugins[4].enabled);
}

QTEST_GUILESS_MAIN(TestPluginsController)
#include "tst_pluginscontroller.moc"
