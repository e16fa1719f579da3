// SPDX-License-Identifier: Apache-2.0
#include "http/router.h"

#include <QtTest/QTest>

using namespace tidekeeper::http;
using namespace Qt::StringLiterals;

namespace {

QCoro::Task<Response> nothing(Request)
{
    co_return Response{};
}

// In an order that would be wrong if the first added won.
Router accountRoutes()
{
    Router router;
    router.add(Method::Get, u"/accounts/{id}"_s, Role::Viewer, nothing);
    router.add(Method::Put, u"/accounts/{id}"_s, Role::Operator, nothing);
    router.add(Method::Get, u"/accounts"_s, Role::Viewer, nothing);
    router.add(Method::Post, u"/accounts/{id}/{verb}"_s, Role::Operator, nothing);
    router.add(Method::Post, u"/accounts/{account}/renew"_s, Role::Admin, nothing);
    router.add(Method::Post, u"/accounts/import"_s, Role::Operator, nothing);
    router.add(Method::Get, u"/accounts/renew"_s, Role::Admin, nothing);
    return router;
}

} // namespace

class TestRouter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void matches_data();
    void matches();
    void refuses_data();
    void refuses();
    void listsItsRoutes();
};

void TestRouter::matches_data()
{
    QTest::addColumn<int>("method");
    QTest::addColumn<QString>("path");
    QTest::addColumn<int>("role");
    QTest::addColumn<QString>("parameters");
    const auto row = [](const char *name, Method method, const QString &path, Role role,
                        const QString &parameters) {
        QTest::newRow(name) << int(method) << path << int(role) << parameters;
    };
    row("plain", Method::Get, u"/accounts"_s, Role::Viewer, u""_s);
    row("parameter", Method::Get, u"/accounts/7"_s, Role::Viewer, u"id=7"_s);
    row("same path, other method", Method::Put, u"/accounts/7"_s, Role::Operator, u"id=7"_s);
    row("written out before a parameter", Method::Get, u"/accounts/renew"_s, Role::Admin, u""_s);
    row("written out for another method only", Method::Put, u"/accounts/import"_s, Role::Operator,
        u"id=import"_s);
    row("last segment decides", Method::Post, u"/accounts/7/renew"_s, Role::Admin, u"account=7"_s);
    row("two parameters", Method::Post, u"/accounts/7/pause"_s, Role::Operator, u"id=7 verb=pause"_s);
    row("encoded slash", Method::Get, u"/accounts/a%2Fb"_s, Role::Viewer, u"id=a/b"_s);
    row("encoded twice", Method::Get, u"/accounts/a%252Fb"_s, Role::Viewer, u"id=a%2Fb"_s);
}

void TestRouter::matches()
{
    QFETCH(int, method);
    QFETCH(QString, path);
    const Router router = accountRoutes();
    const auto match = router.match(Method(method), path);
    QVERIFY(match);
    QTEST(int(match->role), "role");
    QStringList parameters;
    for (const auto &[name, value] : match->parameters.asKeyValueRange())
        parameters.append(name + u'=' + value);
    parameters.sort();
    QTEST(parameters.join(u' '), "parameters");
}

void TestRouter::refuses_data()
{
    QTest::addColumn<int>("method");
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("allow");
    const auto row = [](const char *name, Method method, const QString &path, const QString &code,
                        const QString &allow) {
        QTest::newRow(name) << int(method) << path << code << allow;
    };
    row("unknown", Method::Get, u"/account"_s, u"not_found"_s, u""_s);
    row("prefix", Method::Get, u"/accounts/7/devices/8"_s, u"not_found"_s, u""_s);
    row("empty parameter", Method::Get, u"/accounts/"_s, u"not_found"_s, u""_s);
    row("empty", Method::Get, u""_s, u"not_found"_s, u""_s);
    row("other case", Method::Get, u"/Accounts"_s, u"not_found"_s, u""_s);
    row("method", Method::Delete, u"/accounts"_s, u"method_not_allowed"_s, u"GET, HEAD, OPTIONS"_s);
    row("several", Method::Delete, u"/accounts/import"_s, u"method_not_allowed"_s,
        u"POST, GET, HEAD, PUT, OPTIONS"_s);
}

void TestRouter::refuses()
{
    QFETCH(int, method);
    QFETCH(QString, path);
    const auto match = accountRoutes().match(Method(method), path);
    QVERIFY(!match);
    QTEST(match.error().code, "code");
    QTEST(match.error().details[u"allow"_s].toString(), "allow");
}

void TestRouter::listsItsRoutes()
{
    QStringList routes;
    for (const Router::Route &route : accountRoutes().routes())
        routes.append(toString(route.method) + u' ' + route.path);
    QCOMPARE(routes.size(), 7);
    QVERIFY(routes.contains(u"POST /accounts/{id}/{verb}"_s));
}

QTEST_GUILESS_MAIN(TestRouter)
#include "tst_router.moc"
