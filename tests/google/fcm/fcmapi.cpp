// SPDX-License-Identifier: Apache-2.0
#include "google/fcm/fcmapi.h"

#include "google/fcm/errors.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QRegularExpression>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

constexpr size_t deliveriesKept = 1000;

const QRegularExpression &pathForm()
{
    static const QRegularExpression form(u"^/v1/projects/([^/]+)/messages:send$"_s);
    return form;
}

bool maySend(const QStringList &scopes)
{
    return scopes.contains(u"https://www.googleapis.com/auth/firebase.messaging"_s)
        || scopes.contains(u"https://www.googleapis.com/auth/cloud-platform"_s);
}

} // namespace

bool FcmApi::serves(const QString &path)
{
    return pathForm().match(path).hasMatch();
}

Answer FcmApi::handle(const Call &call)
{
    const auto project = m_world.findProject(pathForm().match(call.path).captured(1));
    const auto token = m_world.accepted(call.headers.value("authorization"));
    const QJsonObject request = QJsonDocument::fromJson(call.body).object();
    const Subject subject{u"fcm.messages.send"_s,
                          {},
                          project ? project->id : QString(),
                          {},
                          {},
                          request.value(u"message"_s).toObject().value(u"token"_s).toString()};
    Answer answer = m_faults.run(subject, [&] {
        if (call.method != "POST")
            return errors::fcm(404, u"NOT_FOUND"_s, u"Requested entity was not found."_s, {});
        if (!token)
            return errors::fcm(401, u"UNAUTHENTICATED"_s,
                               u"Request had invalid authentication credentials."_s, {});
        if (!maySend(token->scopes))
            return errors::fcm(403, u"PERMISSION_DENIED"_s,
                               u"Request had insufficient authentication scopes."_s, {});
        if (!project || project->id != token->projectId)
            return errors::fcm(
                403, u"PERMISSION_DENIED"_s,
                u"Permission 'cloudmessaging.messages.create' denied on resource '%1'."_s.arg(call.path), {});
        return send(*project, request);
    });
    ++(answer.status == 200 ? m_world.totals.fcmAccepted : m_world.totals.fcmRefused);
    return answer;
}

Answer FcmApi::send(Project &project, const QJsonObject &request)
{
    // Answers of the 4xx kind count too, so the quota is looked at first.
    const qint64 nowUs = m_world.clock.monotonicUs();
    if (project.fcmMinute.sum(nowUs) >= m_world.settings.fcmLimitPerMinute)
        return errors::fcmQuotaExceeded(60);
    project.fcmMinute.add(nowUs, 1);

    const QJsonObject message = request.value(u"message"_s).toObject();
    if (auto problem = payloadProblem(message))
        return *problem;
    const QString token = message.value(u"token"_s).toString();
    if (message.contains(u"token"_s)) {
        if (auto problem = deviceProblem(project, token))
            return *problem;
    }
    if (request.value(u"validateOnly"_s).toBool() || request.value(u"validate_only"_s).toBool())
        return Answer::json({{u"name"_s, u"projects/%1/messages/fake_message_id"_s.arg(project.id)}});
    if (const auto device = m_world.devices.find(token); device != m_world.devices.end())
        ++device->second.messages;
    m_world.deliveries.push_back({m_world.clock.wallMs(), project.id, message});
    if (m_world.deliveries.size() > deliveriesKept)
        m_world.deliveries.pop_front();
    // As Google's: "0:", a time in microseconds, "%" and sixteen hexadecimal digits.
    const QString messageId = u"0:"_s + QString::number(m_world.clock.wallMs() * 1000) + u'%'
        + QString::number(m_world.totals.fcmAccepted + 1, 16).rightJustified(16, u'0');
    return Answer::json({{u"name"_s, u"projects/"_s + project.id + u"/messages/"_s + messageId}});
}

std::optional<Answer> FcmApi::deviceProblem(const Project &project, const QString &token)
{
    const auto device = m_world.devices.find(token);
    if (device == m_world.devices.end())
        return errors::fcmInvalidToken();
    if (device->second.projectId != project.id)
        return errors::fcmSenderIdMismatch();
    if (!device->second.registered)
        return errors::fcmUnregistered();
    return std::nullopt;
}

} // namespace tidekeeper::googlesim
