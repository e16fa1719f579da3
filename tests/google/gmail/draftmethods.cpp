// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/errors.h"
#include "google/gmail/message.h"

#include <QtCore/QJsonDocument>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

/// A draft's id is its message's with an "r" before it, fixed when the draft is made.
std::shared_ptr<Message> draft(GmailCall &call, const QString &id)
{
    if (!call.user.drafts.contains(id))
        return nullptr;
    return call.mailbox().find(id.mid(1), call.nowMs());
}

QJsonObject reference(const QString &id, const Message &message)
{
    return {{u"id"_s, id}, {u"message"_s, messageReference(message)}};
}

/// In JSON a draft wraps its message: {"message": {"raw": …}}; an upload brings it bare.
Incoming incomingDraft(const GmailCall &call)
{
    const GmailCall unwrapped{call.call, call.parameters, call.body.value(u"message"_s).toObject(), call.user,
                              call.world};
    return incomingMessage(unwrapped);
}

Answer list(GmailCall &call)
{
    QJsonArray shown;
    const Page page = pageOf(call, call.user.drafts.size());
    for (qsizetype i = page.from; i < page.to; ++i) {
        if (const auto message = draft(call, call.user.drafts[i]))
            shown.append(reference(call.user.drafts[i], *message));
    }
    QJsonObject answer{{u"resultSizeEstimate"_s, call.user.drafts.size()}};
    if (!shown.isEmpty())
        answer.insert(u"drafts"_s, shown);
    if (!page.nextToken.isEmpty())
        answer.insert(u"nextPageToken"_s, page.nextToken);
    return Answer::json(answer);
}

Answer get(GmailCall &call)
{
    const QString id = call.parameters.value(0);
    const auto message = draft(call, id);
    if (!message)
        return errors::notFound();
    return Answer::json({{u"id"_s, id}, {u"message"_s, messageResource(*message, call)}});
}

Answer create(GmailCall &call)
{
    const Incoming incoming = incomingDraft(call);
    if (!incoming.problem.isEmpty())
        return errors::invalidArgument(incoming.problem);
    const auto message = call.mailbox().add(incoming.raw, {u"DRAFT"_s},
                                            incoming.metadata.value(u"threadId"_s).toString(), call.nowMs());
    const QString id = u"r"_s + message->id;
    call.user.drafts << id;
    return Answer::json(reference(id, *message));
}

Answer update(GmailCall &call)
{
    const QString id = call.parameters.value(0);
    const auto message = draft(call, id);
    if (!message)
        return errors::notFound();
    const Incoming incoming = incomingDraft(call);
    if (!incoming.problem.isEmpty())
        return errors::invalidArgument(incoming.problem);
    message->raw = incoming.raw;
    return Answer::json(reference(id, *message));
}

Answer remove(GmailCall &call)
{
    const QString id = call.parameters.value(0);
    const auto message = draft(call, id);
    if (!message)
        return errors::notFound();
    call.user.drafts.removeAll(id);
    call.mailbox().remove(QString(message->id));
    return Answer::empty();
}

Answer send(GmailCall &call)
{
    const QString id = call.body.value(u"id"_s).toString();
    const auto message = draft(call, id);
    if (!message)
        return errors::notFound();
    call.user.drafts.removeAll(id);
    call.mailbox().modify(*message, {u"SENT"_s}, {u"DRAFT"_s});
    return Answer::json(messageReference(*message));
}

} // namespace

std::vector<GmailMethod> draftMethods()
{
    return {
        {"GET", u"drafts"_s, u"gmail.users.drafts.list"_s, Permission::Read, list},
        {"POST", u"drafts"_s, u"gmail.users.drafts.create"_s, Permission::Modify, create},
        {"POST", u"drafts/send"_s, u"gmail.users.drafts.send"_s, Permission::Send, send},
        {"GET", u"drafts/{id}"_s, u"gmail.users.drafts.get"_s, Permission::Read, get},
        {"PUT", u"drafts/{id}"_s, u"gmail.users.drafts.update"_s, Permission::Modify, update},
        {"DELETE", u"drafts/{id}"_s, u"gmail.users.drafts.delete"_s, Permission::Modify, remove},
    };
}

} // namespace tidekeeper::googlesim
