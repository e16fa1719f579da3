// SPDX-License-Identifier: Apache-2.0
#include "google/push/pushes.h"

#include <QtCore/QTimer>
#include <QtNetwork/QNetworkReply>

#include <algorithm>
#include <utility>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

constexpr int mostUnderWay = 6; // what one QNetworkAccessManager sends to one host at the same time
constexpr int ackDeadlineMs = 10'000;
constexpr qint64 longestRetryMs = 60'000;
constexpr int mostTries = 50; // Pub/Sub goes on for a week
const QString method = u"pubsub.push"_s;

bool isAcknowledgement(int status)
{
    return status == 102 || status == 200 || status == 201 || status == 202 || status == 204;
}

QNetworkRequest requestTo(const QUrl &url)
{
    QNetworkRequest request(url);
    request.setHeader(QNetworkRequest::ContentTypeHeader, u"application/json"_s);
    request.setRawHeader("From", "noreply@google.com");
    request.setRawHeader("User-Agent",
                         "APIs-Google; (+https://developers.google.com/webmasters/APIs-Google.html)");
    request.setAttribute(QNetworkRequest::RedirectPolicyAttribute, QNetworkRequest::ManualRedirectPolicy);
    request.setTransferTimeout(ackDeadlineMs);
    return request;
}

} // namespace

Pushes::Pushes(World &world, Faults &faults) : m_world(world), m_faults(faults)
{
    m_world.notify = [this](User &user) { notify(user); };
}

void Pushes::notify(User &user)
{
    if (m_world.settings.pushUrl.isEmpty())
        return;
    const QString topic = user.watch ? user.watch->topic : QString();
    if (m_faults.answer(Faults::Stage::Push, {method, user.email, user.project->id, {}, topic})) {
        ++m_world.totals.pushesSuppressed;
        return;
    }
    m_waiting.push_back(
        {m_world.findUser(user.email, user.project->id),
         {user.email, user.mailbox->historyId(), QString::number(++m_serial), m_world.clock.wallMs(),
          u"projects/%1/subscriptions/gmail"_s.arg(user.project->id)}});
    // Not from inside the call that caused it.
    QMetaObject::invokeMethod(this, &Pushes::sendWaiting, Qt::QueuedConnection);
}

void Pushes::sendWaiting()
{
    while (!m_waiting.empty() && m_underWay < mostUnderWay) {
        Message message = std::move(m_waiting.front());
        m_waiting.pop_front();
        if (!m_world.settings.pushUrl.isEmpty())
            send(std::move(message));
    }
}

void Pushes::send(Message message)
{
    const Settings &settings = m_world.settings;
    QNetworkRequest request = requestTo(QUrl(settings.pushUrl));
    if (!settings.pushServiceAccount.isEmpty())
        request.setRawHeader("Authorization", "Bearer " + m_signer.token(settings, m_world.clock.wallMs()));
    if (!m_network)
        m_network = std::make_unique<QNetworkAccessManager>();
    ++m_underWay;
    ++message.tries;
    ++m_world.totals.pushesSent;
    ++message.user->pushesSent;
    QNetworkReply *reply = m_network->post(request, bodyOf(message.notification, settings.pushShape));
    connect(reply, &QNetworkReply::finished, this, [this, reply, message = std::move(message)] {
        --m_underWay;
        answered(message, reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt());
        reply->deleteLater();
        sendWaiting();
    });
}

void Pushes::answered(Message message, int status)
{
    if (isAcknowledgement(status)) {
        ++m_world.totals.pushesAcknowledged;
        ++message.user->pushesAcknowledged;
        return;
    }
    ++m_world.totals.pushesRefused;
    ++m_world.totals.pushRefusalsByStatus[status];
    if (message.tries >= mostTries)
        return;
    const int doublings = std::min(message.tries - 1, 20);
    const qint64 waitMs = std::min(m_world.settings.pushRetryMs << doublings, longestRetryMs);
    QTimer::singleShot(int(waitMs), this, [this, message = std::move(message)] {
        m_waiting.push_back(message);
        sendWaiting();
    });
}

Answer Pushes::keys()
{
    return m_faults.run({u"oauth2.certs"_s, {}, {}}, [this] {
        Answer answer = Answer::json(m_signer.jwks());
        answer.headers.emplaceBack("Cache-Control", "public, max-age=21154, must-revalidate, no-transform");
        return answer;
    });
}

} // namespace tidekeeper::googlesim
