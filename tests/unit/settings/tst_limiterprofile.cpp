// SPDX-License-Identifier: Apache-2.0
// Which settings a limiter knows, what a patch may say, and names in the database.
#include "settings/fakelimiter.h"

#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::settings;

namespace {

QJsonObject parsed(const QByteArray &json)
{
    return QJsonDocument::fromJson(json).object();
}

} // namespace

class TestLimiterProfile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void accepts_data();
    void accepts();
    void refuses_data();
    void refuses();
    void merges_data();
    void merges();
    void namesInTheDatabase_data();
    void namesInTheDatabase();
    void otherNamesAreNoOverrides_data();
    void otherNamesAreNoOverrides();
    void leaves();
};

void TestLimiterProfile::accepts_data()
{
    QTest::addColumn<QByteArray>("patch");
    QTest::addColumn<QByteArray>("becomes");
    QTest::newRow("nothing") << QByteArray("{}") << QByteArray("{}");
    QTest::newRow("switches") << QByteArray(R"({"enabled": false, "enforce": false})")
                              << QByteArray(R"({"enabled": false, "enforce": false})");
    QTest::newRow("durations") << QByteArray(R"({"send_slack": "3s", "key_ttl": 7200000})")
                               << QByteArray(R"({"send_slack": 3000, "key_ttl": 7200000})");
    QTest::newRow("limits")
        << QByteArray(R"({"projects": {"default": {"day_action": "refuse", "day_budget": 5}}})")
        << QByteArray(R"({"projects": {"default": {"day_action": "refuse", "day_budget": 5}}})");
    QTest::newRow("returned")
        << QByteArray(R"({"enforce": null, "projects": {"default": {"day_budget": null}}})")
        << QByteArray(R"({"enforce": null, "projects": {"default": {"day_budget": null}}})");
    QTest::newRow("all projects returned")
        << QByteArray(R"({"projects": null})") << QByteArray(R"({"projects": null})");
    // Stored, but gone from the limiter since: they can still be returned.
    QTest::newRow("gone")
        << QByteArray(R"({"gone": null, "projects": {"gone": null, "other": {"gone": null}}})")
        << QByteArray(R"({"gone": null, "projects": {"gone": null, "other": {"gone": null}}})");
}

void TestLimiterProfile::accepts()
{
    QFETCH(QByteArray, patch);
    QFETCH(QByteArray, becomes);

    test::FakeLimiter limiter;
    const QJsonObject stored =
        parsed(R"({"gone": 1, "projects": {"gone": {"day_budget": 1}, "other": {"gone": 1}}})");
    const Result<QJsonObject> checked = limiter.profile().checked(parsed(patch), stored);
    QVERIFY2(checked, checked ? "" : qPrintable(checked.error().text));
    QCOMPARE(*checked, parsed(becomes));
}

void TestLimiterProfile::refuses_data()
{
    QTest::addColumn<QByteArray>("patch");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("says");
    const auto row = [](const char *patch, const QString &field, const QString &says,
                        const QString &code = u"invalid_settings"_s) {
        QTest::newRow(patch) << QByteArray(patch) << code << field << says;
    };
    row(R"({"fail_opne": true})", u"fail_opne"_s, u"\"fail_open\""_s);
    row(R"({"fail_opne": null})", u"fail_opne"_s, u"\"fail_open\""_s);
    row(R"({"enabled": 1})", u"enabled"_s, u"true or false"_s);
    row(R"({"enforce": "no"})", u"enforce"_s, u"enforce"_s);
    row(R"({"bulk_reserve": 0.96})", u"bulk_reserve"_s, u"0.95"_s);
    row(R"({"bulk_reserve": -0.1})", u"bulk_reserve"_s, u"bulk_reserve"_s);
    row(R"({"send_slack": "soon"})", u"send_slack"_s, u"send_slack"_s);
    row(R"({"send_slack": "2m"})", u"send_slack"_s, u"send_slack"_s);
    row(R"({"slots": 1.5})", u"slots"_s, u"slots"_s);
    row(R"({"projects": 7})", u"projects"_s, u"projects"_s);
    row(R"({"projects": {"default": 7}})", u"projects.default"_s, u"projects.default"_s);
    row(R"({"projects": {"default": {"account_capacty": 7}}})", u"projects.default.account_capacty"_s,
        u"\"account_capacity\""_s);
    row(R"({"projects": {"default": {"day_budget": {}}}})", u"projects.default.day_budget"_s, u"number"_s);
    row(R"({"projects": {"defualt": {}}})", u"projects.defualt"_s, u"default, other"_s, u"unknown_project"_s);
    row(R"({"projects": {"defualt": null}})", u"projects.defualt"_s, u"default, other"_s,
        u"unknown_project"_s);
}

void TestLimiterProfile::refuses()
{
    QFETCH(QByteArray, patch);
    QFETCH(QString, code);
    QFETCH(QString, field);
    QFETCH(QString, says);

    test::FakeLimiter limiter;
    const Result<QJsonObject> checked = limiter.profile().checked(parsed(patch));
    QVERIFY(!checked);
    QCOMPARE(checked.error().code, code);
    QCOMPARE(checked.error().details["field"_L1].toString(), field);
    QVERIFY2(checked.error().text.contains(says), qPrintable(checked.error().text));
}

void TestLimiterProfile::merges_data()
{
    QTest::addColumn<QByteArray>("stored");
    QTest::addColumn<QByteArray>("patch");
    QTest::addColumn<QByteArray>("becomes");
    const auto row = [](const char *name, const char *stored, const char *patch, const char *becomes) {
        QTest::newRow(name) << QByteArray(stored) << QByteArray(patch) << QByteArray(becomes);
    };
    row("adds", R"({"a": 1})", R"({"b": 2})", R"({"a": 1, "b": 2})");
    row("replaces", R"({"a": 1})", R"({"a": 2})", R"({"a": 2})");
    row("removes", R"({"a": 1, "b": 2})", R"({"a": null})", R"({"b": 2})");
    row("removes what is not there", "{}", R"({"a": null})", "{}");
    row("inside", R"({"projects": {"p": {"a": 1, "b": 2}}})", R"({"projects": {"p": {"a": null, "c": 3}}})",
        R"({"projects": {"p": {"b": 2, "c": 3}}})");
    row("the last one", R"({"projects": {"p": {"a": 1}}})", R"({"projects": {"p": {"a": null}}})", "{}");
    row("a group", R"({"projects": {"p": {"a": 1}, "q": {"a": 1}}})", R"({"projects": {"p": null}})",
        R"({"projects": {"q": {"a": 1}}})");
    row("nothing", R"({"a": 1})", R"({"projects": {"p": {}}})", R"({"a": 1})");
}

void TestLimiterProfile::merges()
{
    QFETCH(QByteArray, stored);
    QFETCH(QByteArray, patch);
    QFETCH(QByteArray, becomes);
    QCOMPARE(merged(parsed(stored), parsed(patch)), parsed(becomes));
}

void TestLimiterProfile::namesInTheDatabase_data()
{
    QTest::addColumn<QString>("limiter");
    QTest::addColumn<QString>("project");
    QTest::addColumn<QString>("account");
    QTest::addColumn<QString>("name");
    const auto row = [](const QString &limiter, const QString &project, const QString &account,
                        const QString &name) {
        QTest::newRow(qPrintable(name)) << limiter << project << account << name;
    };
    row(u"gmail"_s, u"default"_s, u"kim.lee@example.com"_s,
        u"limiter.gmail.override.default.kim.lee@example.com"_s);
    row(u"gmail"_s, u"a.b"_s, u"c@example.com"_s, u"limiter.gmail.override.a%2Eb.c@example.com"_s);
    row(u"gmail"_s, u"a"_s, u"b.c@example.com"_s, u"limiter.gmail.override.a.b.c@example.com"_s);
    row(u"g.m"_s, u"50%"_s, u"{한글}:x"_s, u"limiter.g%2Em.override.50%25.{한글}:x"_s);
}

void TestLimiterProfile::namesInTheDatabase()
{
    QFETCH(QString, limiter);
    QFETCH(QString, project);
    QFETCH(QString, account);
    QFETCH(QString, name);

    QCOMPARE(settingName(limiter, {project, account}), name);
    const auto back = overrideNameFrom(limiter, name);
    QVERIFY(back);
    QCOMPARE(back->project, project);
    QCOMPARE(back->account, account);
}

void TestLimiterProfile::otherNamesAreNoOverrides_data()
{
    QTest::addColumn<QString>("name");
    for (const char *name : {"limiter.gmail", "limiter.gmail.override.", "limiter.gmail.override.default",
                             "limiter.gmail.override.default.", "limiter.gmail.override..kim@example.com",
                             "limiter.gmail2.override.default.kim@example.com"})
        QTest::newRow(name) << QString::fromLatin1(name);
}

void TestLimiterProfile::otherNamesAreNoOverrides()
{
    QFETCH(QString, name);
    QVERIFY(!overrideNameFrom(u"gmail"_s, name));
}

void TestLimiterProfile::leaves()
{
    QStringList fields;
    QJsonObject again;
    const QJsonObject all =
        parsed(R"({"enforce": false, "projects": {"p": {"a": 1, "b": 2}, "q": {"a": 3}}})");
    for (const Leaf &leaf : leavesOf(all)) {
        fields.append(leaf.field);
        again = merged(again, leaf.change);
    }
    QCOMPARE(fields, QStringList({u"enforce"_s, u"projects.p.a"_s, u"projects.p.b"_s, u"projects.q.a"_s}));
    QCOMPARE(again, all);
    QCOMPARE(leavesOf(parsed(R"({"projects": 5})")).size(), 1);
    QCOMPARE(leavesOf(parsed(R"({"projects": {"p": 5}})")).first().field, u"projects.p"_s);
}

QTEST_GUILESS_MAIN(TestLimiterProfile)
#include "tst_limiterprofile.moc"
