// SPDX-License-Identifier: Apache-2.0
#include "apidescription.h"

#include <QtCore/QTemporaryFile>
#include <QtTest/QTest>

using namespace tidekeeper::http;
using namespace tidekeeper::test;
using namespace Qt::StringLiterals;

class TestApiDescription : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsTheProductsOwn();
    void readsOperations();
    void namesEveryDifference();
};

void TestApiDescription::readsTheProductsOwn()
{
    const QStringList routes =
        describedRoutes(QStringLiteral(TIDEKEEPER_SOURCE_DIR) + u"/resources/api/openapi.yaml"_s);
    QVERIFY(routes.contains(u"GET /healthz none"_s));
    QVERIFY(routes.contains(u"POST /api/v1/limiters/{name}/acquire consumer"_s));
    QVERIFY(routes.contains(u"DELETE /api/v1/accounts/{id} operator"_s));
    QVERIFY2(routes.filter(u"no x-role"_s).isEmpty(),
             qPrintable(routes.filter(u"no x-role"_s).join(u", "_s)));
}

void TestApiDescription::readsOperations()
{
    QTemporaryFile file;
    QVERIFY(file.open());
    file.write("paths:\n"
               "  /b:\n"
               "    post:\n"
               "      x-role: admin\n"
               "      requestBody:\n"
               "        post:\n"
               "  /a/{id}:\n"
               "    parameters:\n"
               "    get:\n"
               "      summary: none\n"
               "components:\n"
               "  /c:\n"
               "    get:\n");
    QVERIFY(file.flush());
    QCOMPARE(describedRoutes(file.fileName()),
             (QStringList{u"GET /a/{id} (no x-role)"_s, u"POST /b admin"_s}));
}

void TestApiDescription::namesEveryDifference()
{
    const auto nothing = [](Request) -> QCoro::Task<Response> { co_return Response(); };
    Router router;
    router.add(Method::Get, u"/same"_s, Role::Viewer, nothing);
    router.add(Method::Put, u"/hidden"_s, Role::Admin, nothing);
    router.add(Method::Post, u"/role"_s, Role::Consumer, nothing);
    const QStringList served = servedRoutes(router.routes());
    QCOMPARE(differences(served, served), QStringList());
    QCOMPARE(
        differences(served, {u"GET /same viewer"_s, u"POST /role operator"_s, u"DELETE /gone operator"_s}),
        (QStringList{u"served, but not described: POST /role consumer"_s,
                     u"served, but not described: PUT /hidden admin"_s,
                     u"described, but not served: POST /role operator"_s,
                     u"described, but not served: DELETE /gone operator"_s}));
}

QTEST_GUILESS_MAIN(TestApiDescription)
#include "tst_apidescription.moc"
