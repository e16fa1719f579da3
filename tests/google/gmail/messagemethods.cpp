// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/errors.h"
#include "google/gmail/message.h"

#include <QtCore/QJsonValue>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

std::shared_ptr<Message> named(GmailCall &call)
{
    return call.mailbox().find(call.parameters.value(0), call.nowMs());
}

Answer list(GmailCall &call)
{
    const auto &all = call.mailbox().messages(call.nowMs());
    std::vector<std::shared_ptr<Message>> found;
    for (auto message = all.rbegin(); message != all.rend(); ++message) {
        if (passesFilter(**message, call))
            found.push_back(*message);
    }
    const Page page = pageOf(call, qsizetype(found.size()));
    QJsonArray shown;
    for (qsizetype i = page.from; i < page.to; ++i)
        shown.append(messageReference(*found[size_t(i)]));
    QJsonObject answer{{u"resultSizeEstimate"_s, qint64(found.size())}};
    if (!shown.isEmpty())
        answer.insert(u"messages"_s, shown);
    if (!page.nextToken.isEmpty())
        answer.insert(u"nextPageToken"_s, page.nextToken);
    return Answer::json(answer);
}

Answer get(GmailCall &call)
{
    const auto message = named(call);
    return message ? Answer::json(messageResource(*message, call)) : errors::notFound();
}

Answer getAttachment(GmailCall &call)
{
    const auto message = named(call);
    if (!message || message->attachment.isEmpty() || call.parameters.value(1) != u"att-"_s + message->id)
        return errors::notFound();
    return Answer::json(
        {{u"size"_s, message->attachment.size()},
         {u"data"_s, QString::fromLatin1(message->attachment.toBase64(QByteArray::Base64UrlEncoding))}});
}

Answer takeIn(GmailCall &call, const QStringList &labels)
{
    const Incoming incoming = incomingMessage(call);
    if (!incoming.problem.isEmpty())
        return errors::invalidArgument(incoming.problem);
    const auto message = call.mailbox().add(incoming.raw, labels,
                                            incoming.metadata.value(u"threadId"_s).toString(), call.nowMs());
    call.world.mailArrived(call.user.email);
    QJsonObject answer = messageReference(*message);
    answer.insert(u"labelIds"_s, QJsonArray::fromStringList(message->labels));
    return Answer::json(answer);
}

Answer send(GmailCall &call)
{
    return takeIn(call, {u"SENT"_s});
}

Answer insert(GmailCall &call)
{
    const Incoming incoming = incomingMessage(call);
    QStringList labels;
    const QJsonArray asked = incoming.metadata.value(u"labelIds"_s).toArray();
    for (const QJsonValue &label : asked)
        labels << label.toString();
    return takeIn(call, labels);
}

Answer modify(GmailCall &call)
{
    const auto message = named(call);
    if (!message)
        return errors::notFound();
    call.mailbox().modify(*message, call.strings(u"addLabelIds"_s), call.strings(u"removeLabelIds"_s));
    QJsonObject answer = messageReference(*message);
    answer.insert(u"labelIds"_s, QJsonArray::fromStringList(message->labels));
    return Answer::json(answer);
}

Answer trash(GmailCall &call)
{
    const auto message = named(call);
    if (!message)
        return errors::notFound();
    call.mailbox().modify(*message, {u"TRASH"_s}, {u"INBOX"_s});
    return Answer::json(messageReference(*message));
}

Answer untrash(GmailCall &call)
{
    const auto message = named(call);
    if (!message)
        return errors::notFound();
    call.mailbox().modify(*message, {}, {u"TRASH"_s});
    return Answer::json(messageReference(*message));
}

Answer remove(GmailCall &call)
{
    if (!named(call))
        return errors::notFound();
    call.mailbox().remove(call.parameters.value(0));
    return Answer::empty();
}

/// Ids that do not exist are passed over, as Gmail does.
template<typename Change>
Answer forEachId(GmailCall &call, Change change)
{
    const QStringList ids = call.strings(u"ids"_s);
    if (ids.isEmpty() || ids.size() > 1000)
        return errors::invalidArgument(u"Between 1 and 1000 ids must be given."_s);
    for (const QString &id : ids) {
        if (const auto message = call.mailbox().find(id, call.nowMs()))
            change(*message);
    }
    return Answer::empty();
}

Answer batchModify(GmailCall &call)
{
    return forEachId(call, [&](Message &message) {
        call.mailbox().modify(message, call.strings(u"addLabelIds"_s), call.strings(u"removeLabelIds"_s));
    });
}

Answer batchDelete(GmailCall &call)
{
    return forEachId(call, [&](const Message &message) { call.mailbox().remove(QString(message.id)); });
}

} // namespace

std::vector<GmailMethod> messageMethods()
{
    return {
        {"GET", u"messages"_s, u"gmail.users.messages.list"_s, Permission::Read, list},
        {"POST", u"messages"_s, u"gmail.users.messages.insert"_s, Permission::Modify, insert},
        {"POST", u"messages/import"_s, u"gmail.users.messages.import"_s, Permission::Modify, insert},
        {"POST", u"messages/send"_s, u"gmail.users.messages.send"_s, Permission::Send, send},
        {"POST", u"messages/batchModify"_s, u"gmail.users.messages.batchModify"_s, Permission::Modify,
         batchModify},
        {"POST", u"messages/batchDelete"_s, u"gmail.users.messages.batchDelete"_s, Permission::Delete,
         batchDelete},
        {"GET", u"messages/{id}"_s, u"gmail.users.messages.get"_s, Permission::Read, get},
        {"DELETE", u"messages/{id}"_s, u"gmail.users.messages.delete"_s, Permission::Delete, remove},
        {"POST", u"messages/{id}/modify"_s, u"gmail.users.messages.modify"_s, Permission::Modify, modify},
        {"POST", u"messages/{id}/trash"_s, u"gmail.users.messages.trash"_s, Permission::Modify, trash},
        {"POST", u"messages/{id}/untrash"_s, u"gmail.users.messages.untrash"_s, Permission::Modify, untrash},
        {"GET", u"messages/{id}/attachments/{attachment}"_s, u"gmail.users.messages.attachments.get"_s,
         Permission::Read, getAttachment},
    };
}

} // namespace tidekeeper::googlesim
