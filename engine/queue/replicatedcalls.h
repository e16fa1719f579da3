// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/functionlibrary.h"

#include <functional>
#include <vector>

namespace tidekeeper::queue {

/// Queue functions that are answered only once a replica has what they wrote: FCALL, then WAIT 1 500. WAIT blocks its
/// connection and speaks of what that connection wrote, so this has one of its own; calls that ended meanwhile share
/// the next WAIT. Main thread.
class ReplicatedCalls {
public:
    static constexpr int confirmMs = 500;

    explicit ReplicatedCalls(redis::Endpoint endpoint);
    ~ReplicatedCalls();

    /// As callFunction(), after waiting up to 500 ms for the connection. Failure besides: not_replicated, which means
    /// that it is done at the primary, and stays done unless a replica takes its place before it has it.
    QCoro::Task<Result<redis::Value>> call(QByteArray function, QByteArray key, QList<QByteArray> arguments);

private:
    using Done = std::function<void(Result<>)>;

    void confirm(Done done);
    void sendWait();
    static void settle(const std::vector<Done> &calls, const Result<> &result);

    std::vector<Done> m_unconfirmed; ///< of calls that ended after the last WAIT was sent
    bool m_isWaiting = false; ///< a WAIT is under way or about to be sent
    redis::RedisConnection m_connection;
    redis::FunctionLibrary m_library;
};

} // namespace tidekeeper::queue
