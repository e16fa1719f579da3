// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/call.h"
#include "google/world/world.h"

namespace tidekeeper::googlesim {

/// An admitted call of one Gmail method.
struct GmailCall {
    const Call &call;
    QStringList parameters; ///< what stood in the braces of the method's path, decoded
    QJsonObject body; ///< empty unless JSON was sent
    User &user;
    World &world;

    Mailbox &mailbox() const { return *user.mailbox; }
    qint64 nowMs() const { return world.clock.wallMs(); }
    QString query(const QString &name) const { return call.query.queryItemValue(name, QUrl::FullyDecoded); }
    QStringList queries(const QString &name) const
    {
        return call.query.allQueryItemValues(name, QUrl::FullyDecoded);
    }
    QStringList strings(const QString &field) const; ///< a list in the body
};

/// What a token's scopes must allow.
enum class Permission : quint8 { Read, Modify, Send, Delete };

struct GmailMethod {
    QByteArray verb;
    QString path; ///< after /gmail/v1/users/{userId}/: "messages/{id}/attachments/{id}"
    QString id; ///< "gmail.users.messages.attachments.get"
    Permission permission;
    Answer (*serve)(GmailCall &call);
};

std::vector<GmailMethod> mailboxMethods(); ///< profile, watch, stop, history
std::vector<GmailMethod> messageMethods();
std::vector<GmailMethod> threadMethods();
std::vector<GmailMethod> draftMethods();
std::vector<GmailMethod> labelMethods();
std::vector<GmailMethod> settingsMethods();

bool allows(const QStringList &scopes, Permission permission);

} // namespace tidekeeper::googlesim
