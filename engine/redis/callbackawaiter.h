// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

namespace tidekeeper::redis {

/// Lets a coroutine wait for something that answers by a callback, once and later (never from inside start):
///     auto reply = awaitCallback<Result<Value>>([&](auto done) { connection.send(command, std::move(done)); });
///     Result<Value> value = co_await reply;
template<typename Answer, typename Start>
class CallbackAwaiter {
public:
    explicit CallbackAwaiter(Start start) : m_start(std::move(start)) { }

    // NOLINTBEGIN(readability-identifier-naming): the names of the language
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiting)
    {
        m_start([this, waiting](Answer answer) {
            m_answer = std::move(answer);
            waiting.resume();
        });
    }
    Answer await_resume() { return std::move(*m_answer); }
    // NOLINTEND(readability-identifier-naming)

private:
    Start m_start;
    std::optional<Answer> m_answer;
};

template<typename Answer, typename Start>
CallbackAwaiter<Answer, Start> awaitCallback(Start start)
{
    return CallbackAwaiter<Answer, Start>(std::move(start));
}

} // namespace tidekeeper::redis
