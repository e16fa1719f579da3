// SPDX-License-Identifier: Apache-2.0
// What limits of a single account may be.
#include "settings/fakelimiter.h"

#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::settings;

class TestAccountOverride : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void isFilledUpFromTheProject_data();
    void isFilledUpFromTheProject();
    void refuses_data();
    void refuses();
    void warnsWhenAMinuteCanOverflow_data();
    void warnsWhenAMinuteCanOverflow();
    void needsAProjectThatExists();

private:
    Result<AccountOverride> from(const QByteArray &changes) const
    {
        return AccountOverride::from(test::FakeLimiter().describe()["projects"_L1].toObject(), u"default"_s,
                                     QJsonDocument::fromJson(changes).object());
    }
};

void TestAccountOverride::isFilledUpFromTheProject_data()
{
    QTest::addColumn<QByteArray>("changes");
    QTest::addColumn<QByteArrayList>("arguments"); // capacity_milli, refill, reserve_milli, slots
    QTest::newRow("capacity") << QByteArray(R"({"account_capacity": 100})")
                              << QByteArrayList{"100000", "5450", "50000", "10"};
    QTest::newRow("refill") << QByteArray(R"({"account_refill_per_minute": 100})")
                            << QByteArrayList{"360000", "100", "180000", "10"};
    QTest::newRow("reserve") << QByteArray(R"({"bulk_reserve": 0.25})")
                             << QByteArrayList{"360000", "5450", "90000", "10"};
    QTest::newRow("slots") << QByteArray(R"({"slots": 2})")
                           << QByteArrayList{"360000", "5450", "180000", "2"};
    QTest::newRow("all") << QByteArray(
        R"({"account_capacity": 7, "account_refill_per_minute": 8, "bulk_reserve": 0, "slots": 1})")
                         << QByteArrayList{"7000", "8", "0", "1"};
}

void TestAccountOverride::isFilledUpFromTheProject()
{
    QFETCH(QByteArray, changes);
    QFETCH(QByteArrayList, arguments);
    const auto made = from(changes);
    QVERIFY2(made, made ? "" : qPrintable(made.error().text));
    QCOMPARE(made->limits.arguments(), arguments);
}

void TestAccountOverride::refuses_data()
{
    QTest::addColumn<QByteArray>("changes");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *changes, const QString &field) {
        QTest::newRow(changes) << QByteArray(changes) << field;
    };
    row("{}", {});
    row(R"({"account_capacty": 7})", u"account_capacty"_s);
    row(R"({"project_capacity": 7})", u"project_capacity"_s);
    row(R"({"account_capacity": 0})", u"account_capacity"_s);
    row(R"({"account_capacity": -7})", u"account_capacity"_s);
    row(R"({"account_capacity": 1.5})", u"account_capacity"_s);
    row(R"({"account_capacity": "7"})", u"account_capacity"_s);
    row(R"({"account_capacity": null})", u"account_capacity"_s);
    row(R"({"account_capacity": 1e300})", u"account_capacity"_s);
    row(R"({"account_refill_per_minute": 0})", u"account_refill_per_minute"_s);
    row(R"({"bulk_reserve": 1})", u"bulk_reserve"_s);
    row(R"({"bulk_reserve": -0.5})", u"bulk_reserve"_s);
    row(R"({"slots": 0})", u"slots"_s);
    row(R"({"slots": 1001})", u"slots"_s);
    // 360 units at 20 a minute: an idle bucket is full only after 72 minutes, and a key lives for 60.
    row(R"({"account_refill_per_minute": 20})", u"key_ttl_ms"_s);
}

void TestAccountOverride::refuses()
{
    QFETCH(QByteArray, changes);
    QFETCH(QString, field);
    const auto made = from(changes);
    QVERIFY(!made);
    QCOMPARE(made.error().code, u"invalid_settings"_s);
    QCOMPARE(made.error().details["field"_L1].toString(), field);
    if (field == "account_capacty"_L1)
        QVERIFY(made.error().text.contains(u"\"account_capacity\""_s));
}

void TestAccountOverride::warnsWhenAMinuteCanOverflow_data()
{
    QTest::addColumn<qint64>("capacity");
    QTest::addColumn<bool>("warns");
    // Published 6,000 a minute, refill 5,450, send_slack 2 s: 5,450 × 62 ÷ 60 = 5,631.67.
    QTest::newRow("just fits") << qint64(368) << false;
    QTest::newRow("one more") << qint64(369) << true;
}

void TestAccountOverride::warnsWhenAMinuteCanOverflow()
{
    QFETCH(qint64, capacity);
    QFETCH(bool, warns);
    const auto made = from(QJsonDocument(QJsonObject{{u"account_capacity"_s, capacity}}).toJson());
    QVERIFY(made);
    QCOMPARE(made->warnings.size(), warns ? 1 : 0);
    if (warns)
        QVERIFY2(made->warnings.first().contains(u"6001"_s), qPrintable(made->warnings.first()));
}

void TestAccountOverride::needsAProjectThatExists()
{
    const auto made = AccountOverride::from({{u"a"_s, QJsonObject()}}, u"b"_s, {{u"slots"_s, 1}});
    QVERIFY(!made);
    QCOMPARE(made.error().code, u"unknown_project"_s);
}

QTEST_GUILESS_MAIN(TestAccountOverride)
#include "tst_accountoverride.moc"
