// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "redis/redisvalue.h"

#include <deque>
#include <functional>
#include <vector>

namespace tidekeeper::redis {

/// The commands whose replies are still to come, in the order of their replies. A command whose deadline passed
/// keeps its place, without its callback, so that a late reply is not taken for the reply of the next command.
/// Times are monotonic microseconds.
class PendingCommands {
public:
    using Callback = std::function<void(Result<Value>)>;

    struct Command {
        Callback callback;
        qint64 sentUs = 0;
        qint64 deadlineUs = 0;
        bool isExpired = false;
    };

    static constexpr qint64 never = std::numeric_limits<qint64>::max();

    bool isEmpty() const { return m_commands.empty(); }
    void push(Command command) { m_commands.push_back(std::move(command)); }
    Command takeFirst();

    /// The callbacks of those whose deadline is not after nowUs, which are expired from now on.
    std::vector<Callback> expire(qint64 nowUs);
    qint64 earliestDeadlineUs() const; ///< never when nothing waits
    /// All callbacks that have not been called; nothing is left.
    std::vector<Callback> takeAll();

private:
    std::deque<Command> m_commands;
};

} // namespace tidekeeper::redis
