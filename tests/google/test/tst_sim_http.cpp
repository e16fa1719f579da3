// SPDX-License-Identifier: Apache-2.0
#include "google/httpfront.h"

#include <QtCore/QElapsedTimer>
#include <QtNetwork/QNetworkAccessManager>
#include <QtNetwork/QNetworkReply>
#include <QtNetwork/QTcpSocket>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

/// The front alone, over real sockets.
class TestSimHttp : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bringsTheRequestAsItCame();
    void answersWithHeaders();
    void answersLate();
    void placeIsFreeBeforeTheAnswerHasLeft();
    void cutsAnswersShort();
    void keepsSilentUntilTheCallerHangsUp();
    void endsWhileCallsWait();
    void portInUse();

private:
    static QNetworkReply *finished(QNetworkReply *reply)
    {
        QSignalSpy spy(reply, &QNetworkReply::finished);
        return reply->isFinished() || spy.wait(10'000) ? reply : nullptr;
    }
    QNetworkRequest request(const HttpFront &front, const QString &target)
    {
        return QNetworkRequest(QUrl(front.url() + target));
    }

    QNetworkAccessManager m_network;
};

void TestSimHttp::bringsTheRequestAsItCame()
{
    Call seen;
    HttpFront front([&seen](const Call &call) {
        seen = call;
        return Answer::empty();
    });
    QVERIFY(front.listen(QHostAddress::LocalHost, 0).isEmpty());
    QNetworkRequest post = request(front, u"/users/a%40b.com/x%2Fy?q=from%3Aa%20b&l=1&l=2"_s);
    post.setHeader(QNetworkRequest::ContentTypeHeader, u"text/plain"_s);
    const QByteArray body(3'000'000, 'x'); // comes in many pieces
    QVERIFY(finished(m_network.post(post, body)));
    QCOMPARE(seen.method, "POST");
    QCOMPARE(seen.path, u"/users/a%40b.com/x%2Fy"_s);
    QCOMPARE(seen.query.queryItemValue(u"q"_s, QUrl::FullyDecoded), u"from:a b"_s);
    QCOMPARE(seen.query.allQueryItemValues(u"l"_s), QStringList({u"1"_s, u"2"_s}));
    QCOMPARE(seen.headers.value("content-type"), "text/plain");
    QCOMPARE(seen.body, body);
}

void TestSimHttp::answersWithHeaders()
{
    HttpFront front([](const Call &) {
        Answer answer = Answer::json({{u"a"_s, 1}}, 429);
        answer.headers.append(std::pair<QByteArray, QByteArray>("Retry-After", "7"));
        return answer;
    });
    QVERIFY(front.listen(QHostAddress::LocalHost, 0).isEmpty());
    auto *reply = finished(m_network.get(request(front, u"/"_s)));
    QCOMPARE(reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt(), 429);
    QCOMPARE(reply->rawHeader("Retry-After"), "7");
    QCOMPARE(reply->rawHeader("Content-Type"), "application/json; charset=UTF-8");
    QCOMPARE(reply->readAll(), R"({"a":1})");
}

/// Late answers overlap.
void TestSimHttp::answersLate()
{
    HttpFront front([](const Call &) {
        Answer answer = Answer::json({});
        answer.delayMs = 150;
        return answer;
    });
    QVERIFY(front.listen(QHostAddress::LocalHost, 0).isEmpty());
    QElapsedTimer timer;
    timer.start();
    QList<QNetworkReply *> replies;
    for (int i = 0; i < 5; ++i)
        replies << m_network.get(request(front, u"/"_s));
    for (auto *reply : replies) {
        QVERIFY(finished(reply));
        QCOMPARE(reply->error(), QNetworkReply::NoError);
    }
    QVERIFY(timer.elapsed() >= 150);
    QVERIFY(timer.elapsed() < 5 * 150);
}

/// Or a caller that keeps exactly ten calls in flight would be refused at times.
void TestSimHttp::placeIsFreeBeforeTheAnswerHasLeft()
{
    auto place = std::make_shared<int>();
    const std::weak_ptr<int> watched = place;
    HttpFront front([&place](const Call &) {
        Answer answer = Answer::json({{u"long"_s, QString(20'000'000, u'x')}});
        answer.inFlight.push_back(std::exchange(place, nullptr));
        return answer;
    });
    QVERIFY(front.listen(QHostAddress::LocalHost, 0).isEmpty());
    QTcpSocket socket;
    socket.setReadBufferSize(1000); // so that most of the answer is still to be sent
    socket.connectToHost(QHostAddress::LocalHost, quint16(QUrl(front.url()).port()));
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    QTRY_VERIFY(socket.bytesAvailable() > 0);
    QVERIFY(watched.expired());
}

void TestSimHttp::cutsAnswersShort()
{
    HttpFront front([](const Call &) {
        Answer answer = Answer::json({{u"long"_s, QString(1000, u'x')}});
        answer.ending = Answer::Ending::Cut;
        return answer;
    });
    QVERIFY(front.listen(QHostAddress::LocalHost, 0).isEmpty());
    QTcpSocket socket;
    socket.connectToHost(QHostAddress::LocalHost, quint16(QUrl(front.url()).port()));
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    QSignalSpy closed(&socket, &QTcpSocket::disconnected);
    QVERIFY(closed.wait(10'000));
    const QByteArray got = socket.readAll();
    QVERIFY(got.contains("Content-Length: 1011"));
    QCOMPARE(got.mid(got.indexOf("\r\n\r\n") + 4).size(), 505);
}

void TestSimHttp::keepsSilentUntilTheCallerHangsUp()
{
    auto place = std::make_shared<int>();
    const std::weak_ptr<int> watched = place;
    HttpFront front([&place](const Call &) {
        Answer answer;
        answer.ending = Answer::Ending::Silent;
        answer.inFlight.push_back(std::exchange(place, nullptr));
        return answer;
    });
    QVERIFY(front.listen(QHostAddress::LocalHost, 0).isEmpty());
    QTcpSocket socket;
    socket.connectToHost(QHostAddress::LocalHost, quint16(QUrl(front.url()).port()));
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    QTest::qWait(500);
    QCOMPARE(socket.state(), QAbstractSocket::ConnectedState);
    QCOMPARE(socket.bytesAvailable(), 0);
    QVERIFY(!watched.expired());
    socket.disconnectFromHost();
    QTRY_VERIFY(watched.expired());
}

void TestSimHttp::endsWhileCallsWait()
{
    std::unique_ptr<QNetworkReply> reply;
    bool asked = false;
    {
        HttpFront front([&asked](const Call &) {
            asked = true;
            Answer answer = Answer::empty();
            answer.delayMs = 60'000;
            return answer;
        });
        QVERIFY(front.listen(QHostAddress::LocalHost, 0).isEmpty());
        reply.reset(m_network.get(request(front, u"/"_s)));
        QTRY_VERIFY(asked);
    }
    QVERIFY(finished(reply.get()));
}

void TestSimHttp::portInUse()
{
    HttpFront first([](const Call &) { return Answer::empty(); });
    QVERIFY(first.listen(QHostAddress::LocalHost, 0).isEmpty());
    HttpFront second([](const Call &) { return Answer::empty(); });
    const QString problem = second.listen(QHostAddress::LocalHost, quint16(QUrl(first.url()).port()));
    QVERIFY2(problem.contains(u"in use"_s), qPrintable(problem));
}

QTEST_GUILESS_MAIN(TestSimHttp)
#include "tst_sim_http.moc"
