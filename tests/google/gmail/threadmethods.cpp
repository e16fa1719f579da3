// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/errors.h"
#include "google/gmail/message.h"

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

Mailbox::Messages named(GmailCall &call)
{
    return call.mailbox().thread(call.parameters.value(0), call.nowMs());
}

quint64 historyIdOf(const Mailbox::Messages &thread)
{
    quint64 latest = 0;
    for (const auto &message : thread)
        latest = std::max(latest, message->historyId);
    return latest;
}

Answer list(GmailCall &call)
{
    const auto &all = call.mailbox().messages(call.nowMs());
    QStringList ids; // of the threads with a message that passes, the one with the newest first
    QSet<QString> seen;
    for (auto message = all.rbegin(); message != all.rend(); ++message) {
        if (passesFilter(**message, call) && !seen.contains((*message)->threadId)) {
            seen.insert((*message)->threadId);
            ids << (*message)->threadId;
        }
    }
    const Page page = pageOf(call, ids.size());
    QJsonArray shown;
    for (qsizetype i = page.from; i < page.to; ++i) {
        const auto thread = call.mailbox().thread(ids[i], call.nowMs());
        shown.append(QJsonObject{{u"id"_s, ids[i]}, {u"historyId"_s, QString::number(historyIdOf(thread))}});
    }
    QJsonObject answer{{u"resultSizeEstimate"_s, ids.size()}};
    if (!shown.isEmpty())
        answer.insert(u"threads"_s, shown);
    if (!page.nextToken.isEmpty())
        answer.insert(u"nextPageToken"_s, page.nextToken);
    return Answer::json(answer);
}

Answer get(GmailCall &call)
{
    const auto thread = named(call);
    if (thread.empty())
        return errors::notFound();
    QJsonArray messages;
    for (const auto &message : thread)
        messages.append(messageResource(*message, call));
    return Answer::json({{u"id"_s, call.parameters.value(0)},
                         {u"historyId"_s, QString::number(historyIdOf(thread))},
                         {u"messages"_s, messages}});
}

Answer changed(GmailCall &call, const QStringList &addLabels, const QStringList &removeLabels)
{
    const auto thread = named(call);
    if (thread.empty())
        return errors::notFound();
    QJsonArray messages;
    for (const auto &message : thread) {
        call.mailbox().modify(*message, addLabels, removeLabels);
        QJsonObject item = messageReference(*message);
        item.insert(u"labelIds"_s, QJsonArray::fromStringList(message->labels));
        messages.append(item);
    }
    return Answer::json({{u"id"_s, call.parameters.value(0)}, {u"messages"_s, messages}});
}

Answer modify(GmailCall &call)
{
    return changed(call, call.strings(u"addLabelIds"_s), call.strings(u"removeLabelIds"_s));
}

Answer trash(GmailCall &call)
{
    return changed(call, {u"TRASH"_s}, {u"INBOX"_s});
}

Answer untrash(GmailCall &call)
{
    return changed(call, {}, {u"TRASH"_s});
}

Answer remove(GmailCall &call)
{
    const auto thread = named(call);
    if (thread.empty())
        return errors::notFound();
    for (const auto &message : thread)
        call.mailbox().remove(message->id);
    return Answer::empty();
}

} // namespace

std::vector<GmailMethod> threadMethods()
{
    return {
        {"GET", u"threads"_s, u"gmail.users.threads.list"_s, Permission::Read, list},
        {"GET", u"threads/{id}"_s, u"gmail.users.threads.get"_s, Permission::Read, get},
        {"DELETE", u"threads/{id}"_s, u"gmail.users.threads.delete"_s, Permission::Delete, remove},
        {"POST", u"threads/{id}/modify"_s, u"gmail.users.threads.modify"_s, Permission::Modify, modify},
        {"POST", u"threads/{id}/trash"_s, u"gmail.users.threads.trash"_s, Permission::Modify, trash},
        {"POST", u"threads/{id}/untrash"_s, u"gmail.users.threads.untrash"_s, Permission::Modify, untrash},
    };
}

} // namespace tidekeeper::googlesim
