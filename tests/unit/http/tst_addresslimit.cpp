// SPDX-License-Identifier: Apache-2.0
#include "http/addresslimit.h"

#include <QtTest/QTest>

#include <arpa/inet.h>
#include <cstring>

using namespace tidekeeper::http;
using namespace Qt::StringLiterals;

namespace {

Peer peer(const char *address)
{
    sockaddr_storage storage;
    std::memset(&storage, 0, sizeof storage);
    auto *v4 = reinterpret_cast<sockaddr_in *>(&storage);
    auto *v6 = reinterpret_cast<sockaddr_in6 *>(&storage);
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1)
        storage.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1)
        storage.ss_family = AF_INET6;
    return peerOf(reinterpret_cast<sockaddr *>(&storage));
}

} // namespace

class TestAddressLimit : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void names_data();
    void names();
    void countsTogether_data();
    void countsTogether();
    void forgetsClosedOnes();
};

void TestAddressLimit::names_data()
{
    QTest::addColumn<QString>("address");
    QTest::addColumn<QString>("name");
    QTest::addColumn<bool>("counted");
    QTest::newRow("IPv4") << u"192.0.2.1"_s << u"192.0.2.1"_s << true;
    QTest::newRow("IPv6") << u"2001:db8::1"_s << u"2001:db8::1"_s << true;
    QTest::newRow("IPv4 on a dual-stack socket") << u"::ffff:192.0.2.1"_s << u"192.0.2.1"_s << true;
    QTest::newRow("loopback") << u"127.0.0.1"_s << u"127.0.0.1"_s << false;
    QTest::newRow("loopback net") << u"127.1.2.3"_s << u"127.1.2.3"_s << false;
    QTest::newRow("IPv6 loopback") << u"::1"_s << u"::1"_s << false;
    QTest::newRow("loopback on a dual-stack socket") << u"::ffff:127.0.0.1"_s << u"127.0.0.1"_s << false;
}

void TestAddressLimit::names()
{
    QFETCH(QString, address);
    QFETCH(bool, counted);
    const Peer one = peer(qPrintable(address));
    QTEST(one.address, "name");
    QCOMPARE(!one.countedAs.isEmpty(), counted);
    AddressLimit limit(2);
    for (int i = 0; i < 2; ++i)
        limit.opened(one);
    QCOMPARE(limit.allows(one), !counted);
}

void TestAddressLimit::countsTogether_data()
{
    QTest::addColumn<QString>("one");
    QTest::addColumn<QString>("other");
    QTest::addColumn<bool>("together");
    QTest::newRow("two IPv4") << u"192.0.2.1"_s << u"192.0.2.2"_s << false;
    QTest::newRow("one host's IPv6") << u"2001:db8::1"_s << u"2001:db8::ffff:1"_s << true;
    QTest::newRow("two nets' IPv6") << u"2001:db8::1"_s << u"2001:db8:0:1::1"_s << false;
    QTest::newRow("IPv4 either way") << u"192.0.2.1"_s << u"::ffff:192.0.2.1"_s << true;
}

void TestAddressLimit::countsTogether()
{
    QFETCH(QString, one);
    QFETCH(QString, other);
    QFETCH(bool, together);
    AddressLimit limit(1);
    limit.opened(peer(qPrintable(one)));
    QCOMPARE(!limit.allows(peer(qPrintable(other))), together);
}

void TestAddressLimit::forgetsClosedOnes()
{
    AddressLimit limit(1);
    const Peer one = peer("192.0.2.1");
    QVERIFY(limit.allows(one));
    limit.opened(one);
    QVERIFY(!limit.allows(one));
    limit.closed(one);
    QVERIFY(limit.allows(one));
}

QTEST_GUILESS_MAIN(TestAddressLimit)
#include "tst_addresslimit.moc"
