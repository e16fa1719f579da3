// SPDX-License-Identifier: Apache-2.0
#include "limits/verdict.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

namespace {

const qint64 grantUs = 1'800'000'000'000'000;

QString grantId(bool degraded = false, const QString &account = u"a@x"_s, qint64 cost = 40)
{
    return grantIdOf(u"gmail"_s, {u"default"_s, account, cost, grantUs, degraded, {}});
}

QJsonObject rate(QJsonObject more = {})
{
    more.insert(u"account"_s, u" A@x"_s);
    more.insert(u"rate"_s, true);
    if (!more.contains(u"scope"_s))
        more.insert(u"scope"_s, u"account"_s);
    return more;
}

} // namespace

class TestVerdict : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void toArguments_data();
    void toArguments();
    void refusesBadFields_data();
    void refusesBadFields();
};

void TestVerdict::toArguments_data()
{
    QTest::addColumn<QJsonObject>("json");
    QTest::addColumn<QByteArray>("arguments"); // joined by /
    QTest::addColumn<bool>("chargedButRefused");
    QTest::newRow("bare") << rate() << QByteArray("rate/account//0/0/0/0") << false;
    QTest::newRow("all") << rate({{u"scope"_s, u"project"_s},
                                  {u"family"_s, u"mail_sending"_s},
                                  {u"retry_after_ms"_s, 900'000},
                                  {u"told_limit"_s, 100'000},
                                  {u"grant_id"_s, grantId()}})
                         << QByteArray("rate/project/mail_sending/900000/1800000000000000/40/100000") << true;
    QTest::newRow("good") << QJsonObject{{u"account"_s, u"a@x"_s},
                                         {u"rate"_s, false},
                                         {u"grant_id"_s, grantId()}}
                          << QByteArray("ok///0/1800000000000000/40/0") << false;
    // Its time is this engine's own, and its cost was never taken in Redis.
    QTest::newRow("degraded grant") << rate({{u"grant_id"_s, grantId(true)}})
                                    << QByteArray("rate/account//0/0/0/0") << false;
    QTest::newRow("free grant") << rate({{u"grant_id"_s, grantId(false, u"a@x"_s, 0)}})
                                << QByteArray("rate/account//0/1800000000000000/0/0") << false;
    QTest::newRow("years") << rate({{u"retry_after_ms"_s, 1e15}})
                           << QByteArray("rate/account//86400000/0/0/0") << false;
}

void TestVerdict::toArguments()
{
    QFETCH(QJsonObject, json);
    QFETCH(QByteArray, arguments);
    QFETCH(bool, chargedButRefused);

    const Result<Verdict> verdict = Verdict::from(u"gmail"_s, json);
    QVERIFY2(verdict, qPrintable(verdict ? QString() : verdict.error().text));
    QCOMPARE(verdict->account, u"a@x"_s);
    QCOMPARE(verdict->project, u"default"_s);
    QCOMPARE(verdict->arguments().join('/'), arguments);
    QCOMPARE(verdict->isChargedButRefused(), chargedButRefused);
}

void TestVerdict::refusesBadFields_data()
{
    QTest::addColumn<QJsonObject>("json");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *name, const QString &field, const QJsonValue &value) {
        QJsonObject json = rate();
        json[field] = value;
        QTest::newRow(name) << json << field;
    };
    row("no account", u"account"_s, QJsonValue::Undefined);
    row("account with a space", u"account"_s, u"a b@x"_s);
    row("no verdict", u"rate"_s, QJsonValue::Undefined);
    row("verdict as text", u"rate"_s, u"true"_s);
    row("scope", u"scope"_s, u"user"_s);
    row("no scope", u"scope"_s, QJsonValue::Undefined);
    row("negative wait", u"retry_after_ms"_s, -1);
    row("fraction", u"retry_after_ms"_s, 0.5);
    row("wait as text", u"retry_after_ms"_s, u"1"_s);
    row("negative limit", u"told_limit"_s, -1);
    row("mistyped grant", u"grant_id"_s, u"x"_s + grantId());
    row("grant of another account", u"grant_id"_s, grantId(false, u"b@x"_s));
    QJsonObject elsewhere = rate({{u"project"_s, u"other"_s}, {u"grant_id"_s, grantId()}});
    QTest::newRow("grant of another project") << elsewhere << u"grant_id"_s;
}

void TestVerdict::refusesBadFields()
{
    QFETCH(QJsonObject, json);
    QFETCH(QString, field);

    const Result<Verdict> verdict = Verdict::from(u"gmail"_s, json);
    QVERIFY(!verdict);
    QCOMPARE(verdict.error().code, u"invalid_request"_s);
    QCOMPARE(verdict.error().details["field"_L1].toString(), field);
}

QTEST_APPLESS_MAIN(TestVerdict)
#include "tst_verdict.moc"
