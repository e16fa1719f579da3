// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QEventLoop>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtCore/QTimer>
#include <QtCore/QUrl>
#include <QtNetwork/QTcpSocket>

#include <algorithm>
#include <memory>
#include <vector>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr int giveUpMs = 30'000;

struct Range {
    const QUrl url;
    const QByteArray token;
    QList<Shot> &shots;
    std::atomic<int> &answered;
    qsizetype next = 0;
    QEventLoop loop{nullptr};
};

/// One connection that sends its next request when the one before is answered.
class Gun : public QObject {
public:
    explicit Gun(Range &range) : m_range(range)
    {
        connect(&m_socket, &QTcpSocket::connected, this, [this] { fire(); });
        connect(&m_socket, &QTcpSocket::readyRead, this, [this] { read(); });
        connect(&m_socket, &QTcpSocket::disconnected, this, [this] { broken(); });
        connect(&m_socket, &QTcpSocket::errorOccurred, this, [this] { broken(); });
        m_socket.connectToHost(range.url.host(), quint16(range.url.port()));
        m_socket.setSocketOption(QAbstractSocket::LowDelayOption, 1);
    }

private:
    void fire()
    {
        if (m_range.next == m_range.shots.size())
            return;
        m_shot = &m_range.shots[m_range.next++];
        const QByteArray body =
            QJsonDocument(QJsonObject{{u"account"_s, QString::fromLatin1(m_shot->account)},
                                      {u"project"_s, u"load"_s},
                                      {u"cost"_s, m_shot->cost}})
                .toJson(QJsonDocument::Compact);
        m_timer.start();
        m_socket.write("POST /api/v1/limiters/gmail/acquire HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: application/json\r\nAuthorization: Bearer "
                       + m_range.token + "\r\nContent-Length: " + QByteArray::number(body.size()) + "\r\n\r\n"
                       + body);
    }

    void read()
    {
        m_in += m_socket.readAll();
        const qsizetype head = m_in.indexOf("\r\n\r\n");
        if (head < 0 || !m_shot)
            return;
        const QByteArray length = "content-length: ";
        const qsizetype at = m_in.left(head).toLower().indexOf(length);
        const qsizetype size = m_in.mid(at + length.size(), 10).split('\r').first().toLongLong();
        if (m_in.size() < head + 4 + size)
            return;
        m_shot->us = m_timer.nsecsElapsed() / 1000;
        m_shot->status = m_in.mid(9, 3).toInt();
        const QJsonObject body = QJsonDocument::fromJson(m_in.mid(head + 4, size)).object();
        m_shot->granted = body["granted"_L1].toBool();
        m_shot->degraded = body["degraded"_L1].toBool();
        m_in.remove(0, head + 4 + size);
        ended();
        fire();
    }

    void broken()
    {
        if (m_shot)
            ended();
    }

    void ended()
    {
        m_shot = nullptr;
        if (++m_range.answered == m_range.shots.size())
            m_range.loop.quit();
    }

    Range &m_range;
    QTcpSocket m_socket;
    QByteArray m_in;
    Shot *m_shot = nullptr;
    QElapsedTimer m_timer;
};

} // namespace

void shoot(const QString &engineUrl, const QByteArray &token, QList<Shot> &shots, int inFlight,
           std::atomic<int> &answered)
{
    Range range{QUrl(engineUrl), token, shots, answered};
    QTimer::singleShot(giveUpMs, &range.loop, &QEventLoop::quit);
    std::vector<std::unique_ptr<Gun>> guns;
    for (int i = 0; i < std::min<qsizetype>(inFlight, shots.size()); ++i)
        guns.push_back(std::make_unique<Gun>(range));
    range.loop.exec();
}

double percentileMs(const QList<Shot> &shots, double share)
{
    if (shots.isEmpty())
        return 0;
    std::vector<qint64> all;
    for (const Shot &shot : shots)
        all.push_back(shot.us);
    std::sort(all.begin(), all.end());
    return double(all[std::min(all.size() - 1, size_t(share * double(all.size())))]) / 1000;
}

} // namespace tidekeeper::faults
