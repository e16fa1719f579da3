// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/errors.h"
#include "google/gmail/message.h"

#include <algorithm>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

Answer getProfile(GmailCall &call)
{
    QSet<QString> threads;
    const auto &messages = call.mailbox().messages(call.nowMs());
    for (const auto &message : messages)
        threads.insert(message->threadId);
    return Answer::json({{u"emailAddress"_s, call.user.email},
                         {u"messagesTotal"_s, qint64(messages.size())},
                         {u"threadsTotal"_s, threads.size()},
                         {u"historyId"_s, QString::number(call.mailbox().historyId())}});
}

/// The truth that renewals are judged by: a watch that ran out before anyone set the next.
void countLapse(User &user, qint64 nowMs)
{
    if (!user.watch || user.watching(nowMs))
        return;
    ++user.lapses;
    user.lapsedMs += nowMs - user.watch->expiresAtMs;
}

Answer watch(GmailCall &call)
{
    const QString topic = call.body.value(u"topicName"_s).toString();
    const QString projectId = call.user.project->id;
    const QStringList words = topic.split(u'/');
    if (words.size() != 4 || words[0] != u"projects"_s || words[1] != projectId || words[2] != u"topics"_s
        || words[3].isEmpty())
        return errors::topicOfOtherProject(projectId);
    User &user = call.user;
    const qint64 nowMs = call.nowMs();
    if (user.watching(nowMs) && (call.world.settings.strictWatch || user.watch->topic != topic))
        return errors::otherWatchActive();
    countLapse(user, nowMs);
    user.watch =
        Watch{topic, call.strings(u"labelIds"_s), nowMs, nowMs + call.world.settings.watchLifetimeMs};
    user.watches.push_back(*user.watch);
    ++call.world.totals.watches;
    call.world.notify(user); // one at once, whatever happens in the mailbox
    return Answer::json({{u"historyId"_s, QString::number(call.mailbox().historyId())},
                         {u"expiration"_s, QString::number(user.watch->expiresAtMs)}});
}

/// Stopping a mailbox without a watch is as good as any stop.
Answer stop(GmailCall &call)
{
    countLapse(call.user, call.nowMs());
    call.user.watch.reset();
    call.user.stopsMs.push_back(call.nowMs());
    ++call.world.totals.stops;
    return Answer::empty();
}

QString typeOf(Change::Kind kind)
{
    switch (kind) {
    case Change::Kind::MessageAdded:
        return u"messageAdded"_s;
    case Change::Kind::MessageDeleted:
        return u"messageDeleted"_s;
    case Change::Kind::LabelAdded:
        return u"labelAdded"_s;
    case Change::Kind::LabelRemoved:
        return u"labelRemoved"_s;
    }
    Q_UNREACHABLE();
}

QJsonObject historyRecord(const Change &change)
{
    // "messageAdded" is listed under "messagesAdded", "labelAdded" under "labelsAdded".
    const QString listed =
        typeOf(change.kind).replace(u"message"_s, u"messages"_s).replace(u"label"_s, u"labels"_s);
    const QJsonObject reference{{u"id"_s, change.messageId}, {u"threadId"_s, change.threadId}};
    QJsonObject message = reference;
    message.insert(u"labelIds"_s, QJsonArray::fromStringList(change.messageLabels));
    QJsonObject item{{u"message"_s, message}};
    if (!change.labels.isEmpty())
        item.insert(u"labelIds"_s, QJsonArray::fromStringList(change.labels));
    return {{u"id"_s, QString::number(change.id)},
            {u"messages"_s, QJsonArray{reference}},
            {listed, QJsonArray{item}}};
}

Answer historyList(GmailCall &call)
{
    bool number = false;
    const quint64 start = call.query(u"startHistoryId"_s).toULongLong(&number);
    if (!number)
        return errors::invalidArgument(u"Missing or invalid startHistoryId"_s);
    Mailbox &mailbox = call.mailbox();
    mailbox.forgetChanges(call.world.settings.historyRecords);
    const auto &changes = mailbox.changes();
    // Whoever starts before the oldest change that is still known has missed some: a full sync is due.
    const quint64 oldest = changes.empty() ? mailbox.historyId() : changes.front().id - 7;
    if (start < oldest || start > mailbox.historyId())
        return errors::notFound();
    const QStringList types = call.queries(u"historyTypes"_s);
    const QString label = call.query(u"labelId"_s);
    QJsonArray records;
    for (const Change &change : changes) {
        if (change.id > start && (types.isEmpty() || types.contains(typeOf(change.kind)))
            && (label.isEmpty() || change.messageLabels.contains(label) || change.labels.contains(label)))
            records.append(historyRecord(change));
    }
    const Page page = pageOf(call, records.size());
    QJsonObject answer{{u"historyId"_s, QString::number(mailbox.historyId())}};
    QJsonArray shown;
    for (qsizetype i = page.from; i < page.to; ++i)
        shown.append(records[i]);
    if (!shown.isEmpty())
        answer.insert(u"history"_s, shown);
    if (!page.nextToken.isEmpty())
        answer.insert(u"nextPageToken"_s, page.nextToken);
    return Answer::json(answer);
}

} // namespace

std::vector<GmailMethod> mailboxMethods()
{
    return {
        {"GET", u"profile"_s, u"gmail.users.getProfile"_s, Permission::Read, getProfile},
        {"POST", u"watch"_s, u"gmail.users.watch"_s, Permission::Read, watch},
        {"POST", u"stop"_s, u"gmail.users.stop"_s, Permission::Read, stop},
        {"GET", u"history"_s, u"gmail.users.history.list"_s, Permission::Read, historyList},
    };
}

} // namespace tidekeeper::googlesim
