// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/errors.h"
#include "google/gmail/method.h"

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

const QStringList &systemLabels()
{
    static const QStringList list{u"INBOX"_s,
                                  u"UNREAD"_s,
                                  u"STARRED"_s,
                                  u"IMPORTANT"_s,
                                  u"SENT"_s,
                                  u"DRAFT"_s,
                                  u"TRASH"_s,
                                  u"SPAM"_s,
                                  u"CATEGORY_PERSONAL"_s,
                                  u"CATEGORY_SOCIAL"_s,
                                  u"CATEGORY_PROMOTIONS"_s,
                                  u"CATEGORY_UPDATES"_s,
                                  u"CATEGORY_FORUMS"_s};
    return list;
}

QJsonObject label(const QString &id, const QString &name, bool system)
{
    return {{u"id"_s, id}, {u"name"_s, name}, {u"type"_s, system ? u"system"_s : u"user"_s}};
}

Answer list(GmailCall &call)
{
    QJsonArray labels;
    for (const QString &id : systemLabels())
        labels.append(label(id, id, true));
    for (auto own = call.user.ownLabels.cbegin(); own != call.user.ownLabels.cend(); ++own)
        labels.append(label(own.key(), own.value(), false));
    return Answer::json({{u"labels"_s, labels}});
}

Answer get(GmailCall &call)
{
    const QString id = call.parameters.value(0);
    const bool system = systemLabels().contains(id);
    if (!system && !call.user.ownLabels.contains(id))
        return errors::notFound();
    qint64 messages = 0;
    for (const auto &message : call.mailbox().messages(call.nowMs()))
        messages += message->labels.contains(id) ? 1 : 0;
    QJsonObject answer = label(id, system ? id : call.user.ownLabels.value(id), system);
    answer.insert(u"messagesTotal"_s, messages);
    return Answer::json(answer);
}

Answer create(GmailCall &call)
{
    const QString name = call.body.value(u"name"_s).toString();
    if (name.isEmpty())
        return errors::invalidArgument(u"Invalid label name"_s);
    if (call.user.ownLabels.values().contains(name))
        return errors::gmail({409, u"Label name exists or conflicts"_s, u"aborted"_s, u"ABORTED"_s});
    const QString id = u"Label_%1"_s.arg(call.user.ownLabels.size() + 1);
    call.user.ownLabels.insert(id, name);
    return Answer::json(label(id, name, false));
}

Answer rename(GmailCall &call)
{
    const auto own = call.user.ownLabels.find(call.parameters.value(0));
    if (own == call.user.ownLabels.end())
        return errors::notFound();
    if (call.body.contains(u"name"_s))
        *own = call.body.value(u"name"_s).toString();
    return Answer::json(label(own.key(), own.value(), false));
}

Answer remove(GmailCall &call)
{
    const QString id = call.parameters.value(0);
    if (call.user.ownLabels.remove(id) == 0)
        return errors::notFound();
    for (const auto &message : call.mailbox().messages(call.nowMs()))
        call.mailbox().modify(*message, {}, {id});
    return Answer::empty();
}

} // namespace

std::vector<GmailMethod> labelMethods()
{
    return {
        {"GET", u"labels"_s, u"gmail.users.labels.list"_s, Permission::Read, list},
        {"POST", u"labels"_s, u"gmail.users.labels.create"_s, Permission::Modify, create},
        {"GET", u"labels/{id}"_s, u"gmail.users.labels.get"_s, Permission::Read, get},
        {"PUT", u"labels/{id}"_s, u"gmail.users.labels.update"_s, Permission::Modify, rename},
        {"PATCH", u"labels/{id}"_s, u"gmail.users.labels.patch"_s, Permission::Modify, rename},
        {"DELETE", u"labels/{id}"_s, u"gmail.users.labels.delete"_s, Permission::Modify, remove},
    };
}

} // namespace tidekeeper::googlesim
