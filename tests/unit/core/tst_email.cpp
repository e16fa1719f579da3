// SPDX-License-Identifier: Apache-2.0
#include "core/email.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

class EmailTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void accepted_data();
    void accepted();
    void refused_data();
    void refused();
};

void EmailTest::accepted_data()
{
    QTest::addColumn<QString>("given");
    QTest::addColumn<QString>("stored");
    QTest::newRow("plain") << u"kim@example.com"_s << u"kim@example.com"_s;
    QTest::newRow("trimmed, A-Z lowered")
        << u"  Kim.Lee+Tag@Example.COM \n"_s << u"kim.lee+tag@example.com"_s;
    QTest::newRow("other letters untouched") << u"ÄÖ@Bücher.example"_s << u"ÄÖ@bücher.example"_s;
    QTest::newRow("no dot in the domain") << u"root@localhost"_s << u"root@localhost"_s;
    QTest::newRow("320 bytes") << u"a"_s.repeated(308) + u"@example.com"_s
                               << u"a"_s.repeated(308) + u"@example.com"_s;
}

void EmailTest::accepted()
{
    QFETCH(QString, given);
    QFETCH(QString, stored);
    const Result<QString> result = core::checkedEmail(given);
    QVERIFY2(result.has_value(), result ? "" : qPrintable(result.error().text));
    QCOMPARE(*result, stored);
}

void EmailTest::refused_data()
{
    QTest::addColumn<QString>("given");
    QTest::addColumn<QString>("why");
    QTest::newRow("empty") << QString() << u"empty"_s;
    QTest::newRow("blank") << u" \t"_s << u"empty"_s;
    QTest::newRow("no @") << u"kim.example.com"_s << u"exactly one @"_s;
    QTest::newRow("two @") << u"kim@lee@example.com"_s << u"exactly one @"_s;
    QTest::newRow("no local part") << u"@example.com"_s << u"before the @"_s;
    QTest::newRow("no domain") << u"kim@"_s << u"domain"_s;
    QTest::newRow("dots in a row") << u"kim..lee@example.com"_s << u"before the @"_s;
    QTest::newRow("domain ends with a dot") << u"kim@example.com."_s << u"domain"_s;
    QTest::newRow("space inside") << u"kim lee@example.com"_s << u"space"_s;
    QTest::newRow("line feed inside") << u"kim\n@example.com"_s << u"space"_s;
    QTest::newRow("NUL inside") << QString(u"kim"_s + QChar(0) + u"@example.com"_s) << u"control"_s;
    QTest::newRow("with a name") << u"Kim<kim@example.com>"_s << u"bare address"_s;
    QTest::newRow("321 bytes") << u"a"_s.repeated(309) + u"@example.com"_s << u"320 bytes"_s;
    QTest::newRow("321 bytes in fewer letters")
        << u"한"_s.repeated(103) + u"@example.com"_s << u"320 bytes"_s;
}

void EmailTest::refused()
{
    QFETCH(QString, given);
    QFETCH(QString, why);
    const Result<QString> result = core::checkedEmail(given);
    QVERIFY(!result.has_value());
    QCOMPARE(result.error().code, u"invalid_request"_s);
    QCOMPARE(result.error().details.value(u"field"_s).toString(), u"email"_s);
    QVERIFY2(result.error().text.contains(why), qPrintable(result.error().text));
    if (given.trimmed().size() > 1)
        QVERIFY2(!result.error().text.contains(given.trimmed()), "the text repeats the address");
}

QTEST_GUILESS_MAIN(EmailTest)
#include "tst_email.moc"
