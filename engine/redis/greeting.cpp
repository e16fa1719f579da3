// SPDX-License-Identifier: Apache-2.0
#include "redis/greeting.h"

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

QList<QList<QByteArray>> greetingCommands(const Endpoint &endpoint, const QByteArray &clientName)
{
    QList<QList<QByteArray>> commands;
    if (!endpoint.username.isEmpty())
        commands.append({"AUTH", endpoint.username.toUtf8(), endpoint.password});
    else if (!endpoint.password.isEmpty())
        commands.append({"AUTH", endpoint.password});
    if (endpoint.database != 0)
        commands.append({"SELECT", QByteArray::number(endpoint.database)});
    if (!clientName.isEmpty())
        commands.append({"CLIENT", "SETNAME", clientName});
    commands.append({"PING"});
    commands.append({"TIME"});
    return commands;
}

QString greetingObjection(const QList<QByteArray> &command, const Value &reply)
{
    if (!reply.isError())
        return {};
    const QString text = QString::fromUtf8(reply.text);
    if (command.first() == "AUTH")
        return u"the server refuses the user name or password (%1)"_s.arg(text);
    if (command.first() == "SELECT")
        return u"the server refuses the database (%1)"_s.arg(text);
    // A user without the right to CLIENT, PING or TIME is none the worse for it; these replies mean "not now" or
    // "not you".
    static constexpr std::array objections{"LOADING", "MASTERDOWN", "BUSY ", "NOAUTH",
                                           "ERR max number of clients"};
    const bool objects = std::any_of(objections.begin(), objections.end(),
                                     [&reply](const char *start) { return reply.text.startsWith(start); });
    return objects ? u"the server answers \"%1\""_s.arg(text) : QString();
}

} // namespace tidekeeper::redis
