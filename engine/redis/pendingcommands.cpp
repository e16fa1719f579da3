// SPDX-License-Identifier: Apache-2.0
#include "redis/pendingcommands.h"

namespace tidekeeper::redis {

PendingCommands::Command PendingCommands::takeFirst()
{
    Command command = std::move(m_commands.front());
    m_commands.pop_front();
    return command;
}

std::vector<PendingCommands::Callback> PendingCommands::expire(qint64 nowUs)
{
    std::vector<Callback> expired;
    for (Command &command : m_commands) {
        if (command.isExpired || command.deadlineUs > nowUs)
            continue;
        command.isExpired = true;
        expired.push_back(std::exchange(command.callback, nullptr));
    }
    return expired;
}

qint64 PendingCommands::earliestDeadlineUs() const
{
    qint64 earliest = never;
    for (const Command &command : m_commands) {
        if (!command.isExpired)
            earliest = std::min(earliest, command.deadlineUs);
    }
    return earliest;
}

std::vector<PendingCommands::Callback> PendingCommands::takeAll()
{
    std::vector<Callback> callbacks;
    for (Command &command : m_commands) {
        if (!command.isExpired)
            callbacks.push_back(std::move(command.callback));
    }
    m_commands.clear();
    return callbacks;
}

} // namespace tidekeeper::redis
