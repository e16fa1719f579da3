// SPDX-License-Identifier: Apache-2.0
#include "core/custody.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

class TestCustody : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void decision_data();
    void decision();
    void whoObservesIsTold();
};

namespace {

const CustodyRecord record{u"cluster-1"_s, {u"one"_s, u"two"_s}};
const std::optional<QString> away;

} // namespace

void TestCustody::decision_data()
{
    QTest::addColumn<CustodyInput>("given");
    QTest::addColumn<Custody>("custody");
    const auto row = [](const char *name, const CustodyInput &given, Custody custody) {
        QTest::newRow(name) << given << custody;
    };
    row("a new database", {u"one"_s, {}, false, QString()}, Custody::Joins);
    row("an upgrade: nobody is recorded, Redis away", {u"one"_s, {}, true, away}, Custody::Joins);
    row("a restart", {u"one"_s, record, false, u"cluster-1"_s}, Custody::Holds);
    row("a restart with an empty Redis", {u"two"_s, record, true, QString()}, Custody::Holds);
    row("a restart while Redis is away", {u"one"_s, record, true, away}, Custody::Holds);
    row("a restart with another Redis", {u"one"_s, record, true, u"cluster-2"_s}, Custody::Holds);
    row("a second engine on the same Redis", {u"three"_s, record, true, u"cluster-1"_s}, Custody::Joins);
    row("a second engine while Redis is away", {u"three"_s, record, true, away}, Custody::Unclear);
    row("a copy with a Redis of its own", {u"three"_s, record, true, u"cluster-2"_s}, Custody::Copied);
    row("a copy with a new Redis", {u"three"_s, record, true, QString()}, Custody::Copied);
    row("a copied folder, private Redis and all", {u"three"_s, record, false, u"cluster-1"_s},
        Custody::Copied);
}

void TestCustody::decision()
{
    QFETCH(CustodyInput, given);
    QTEST(custodyOf(given), "custody");
}

void TestCustody::whoObservesIsTold()
{
    QVERIFY(custodyText(Custody::Holds).isEmpty());
    QVERIFY(custodyText(Custody::Joins).isEmpty());
    QVERIFY(custodyText(Custody::Unclear).contains(u"Redis"_s));
    QVERIFY(custodyText(Custody::Copied).contains(u"tidekeeper accounts adopt"_s));
}

QTEST_APPLESS_MAIN(TestCustody)
#include "tst_custody.moc"
