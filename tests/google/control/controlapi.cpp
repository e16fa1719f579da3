// SPDX-License-Identifier: Apache-2.0
#include "google/control/controlapi.h"

#include "google/control/fields.h"

#include <QtCore/QJsonDocument>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

Answer controlProblem(const QString &sentence, int status)
{
    return Answer::json({{u"error"_s, sentence}}, status);
}

Answer ControlApi::handle(const Call &call)
{
    const QString what = call.path.section(u'/', 2, 2);
    QJsonObject asked;
    if (!call.body.isEmpty()) {
        QJsonParseError error;
        const QJsonDocument document = QJsonDocument::fromJson(call.body, &error);
        if (!document.isObject())
            return controlProblem(
                u"The body must be a JSON object (%1 at byte %2)."_s.arg(error.errorString())
                    .arg(error.offset));
        asked = document.object();
    }
    if (call.method == "GET" && what == u"state"_s)
        return state(call);
    if (call.method == "GET" && what == u"faults"_s)
        return Answer::json(m_faults.list());
    if (call.method == "GET" && what == u"settings"_s)
        return Answer::json(m_world.settings.toJson());
    if (call.method == "DELETE" && what == u"faults"_s)
        return removeFaults(call);
    if (call.method != "POST")
        return controlProblem(
            u"Nothing is served for %1 %2."_s.arg(QString::fromLatin1(call.method), call.path), 404);
    if (what == u"faults"_s)
        return addFaults(asked);
    if (what == u"accounts"_s)
        return accounts(asked, call);
    if (what == u"service-accounts"_s)
        return serviceAccounts(asked);
    if (what == u"devices"_s)
        return devices(asked);
    if (what == u"mail"_s)
        return mail(asked);
    if (what == u"clock"_s)
        return clock(asked);
    if (what == u"settings"_s)
        return settings(asked);
    return controlProblem(u"Nothing is served for POST %1."_s.arg(call.path), 404);
}

Answer ControlApi::state(const Call &call)
{
    return Answer::json(stateOf(m_world, call.query.allQueryItemValues(u"account"_s, QUrl::FullyDecoded),
                                call.query.queryItemValue(u"accounts"_s) != u"0"_s));
}

Answer ControlApi::addFaults(const QJsonObject &asked)
{
    if (asked.value(u"clear"_s).toBool()) {
        m_faults.clear();
        return Answer::json(m_faults.list());
    }
    if (const QString problem = m_faults.add(asked); !problem.isEmpty())
        return controlProblem(problem);
    return Answer::json(m_faults.list());
}

Answer ControlApi::removeFaults(const Call &call)
{
    const QString id = call.path.section(u'/', 3, 3);
    if (id.isEmpty())
        m_faults.clear();
    else if (!m_faults.remove(id.toInt()))
        return controlProblem(u"There is no fault %1."_s.arg(id), 404);
    return Answer::json(m_faults.list());
}

Answer ControlApi::mail(const QJsonObject &asked)
{
    Fields fields(asked);
    const QString email = fields.string(u"email"_s).toLower();
    const QString projectId = fields.string(u"project_id"_s, defaultProjectId());
    const qint64 count = fields.integer(u"count"_s, 1, 1, 1000);
    const auto user = m_world.findUser(email, projectId);
    if (!user)
        fields.complain(u"The field email must name an account of project %1."_s.arg(projectId));
    if (!fields.problem().isEmpty())
        return controlProblem(fields.problem());
    for (qint64 i = 0; i < count; ++i) {
        user->mailbox->add("From: Sender <sender@example.net>\r\nTo: " + email.toUtf8()
                               + "\r\nSubject: News\r\n\r\nNew mail.\r\n",
                           {u"INBOX"_s, u"UNREAD"_s}, {}, m_world.clock.wallMs());
        m_world.mailArrived(email);
    }
    return Answer::json({{u"history_id"_s, QString::number(user->mailbox->historyId())}});
}

Answer ControlApi::clock(const QJsonObject &asked)
{
    Fields fields(asked);
    constexpr qint64 year = 366LL * 24 * 3600 * 1000;
    const qint64 byMs = fields.integer(u"advance_ms"_s, 0, 0, year);
    if (!fields.problem().isEmpty())
        return controlProblem(fields.problem());
    m_world.clock.advance(byMs * 1000);
    return Answer::json({{u"now"_s, m_world.clock.wallMs()}});
}

Answer ControlApi::settings(const QJsonObject &asked)
{
    if (const QString problem = apply(m_world.settings, asked); !problem.isEmpty())
        return controlProblem(problem);
    return Answer::json(m_world.settings.toJson());
}

} // namespace tidekeeper::googlesim
