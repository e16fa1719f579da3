// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/pendingreply.h"

#include <QtCore/QCoreApplication>
#include <QtCore/QEvent>
#include <QtCore/QSet>

#include <coroutine>
#include <exception>
#include <mutex>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

const QEvent::Type wakeEvent = static_cast<QEvent::Type>(QEvent::registerEventType());

class PendingCall;

/// Replies that nobody waits for any more. They belong to the plugin, which may finish them at any time, so they
/// stay until it does; kept here so that a leak checker can tell them from lost memory.
class Abandoned {
public:
    static void add(PendingCall *call)
    {
        change([call](Set &set) { set.insert(call); });
    }
    static void remove(PendingCall *call)
    {
        change([call](Set &set) { set.remove(call); });
    }

private:
    using Set = QSet<PendingCall *>;
    template<typename Function>
    static void change(Function function)
    {
        static std::mutex mutex;
        static Set *const set = new Set; // outlives every plugin's threads
        const std::lock_guard lock(mutex);
        function(*set);
    }
};

/// What the two kinds of reply have in common: who still holds it, the deadline, the wake-up of the coroutine.
/// Lives on the main thread; the plugin's side is answer(). Deleted by whoever lets go last.
class PendingCall : public QObject {
public:
    explicit PendingCall(CallOptions options) : m_options(std::move(options)) { }

    struct Awaiter {
        PendingCall &call;
        int deadlineMs;
        bool await_ready() const { return call.isAnswered(); }
        bool await_suspend(std::coroutine_handle<> waiting) { return call.suspend(waiting, deadlineMs); }
        void await_resume() const { }
    };

    /// Lets go. True when the answer is there, and then the caller deletes the call; otherwise it is the plugin's
    /// from now on.
    bool settle()
    {
        const std::lock_guard lock(m_mutex);
        if (m_state == State::Answered)
            return true;
        m_state = State::Abandoned;
        Abandoned::add(this);
        return false;
    }

    bool isTimedOut() const { return m_timedOut; }

protected:
    /// The plugin's answer, on any thread: store() runs for the first one, unless nobody waits any more.
    template<typename Store>
    void answer(Store store)
    {
        const std::lock_guard lock(m_mutex);
        if (m_state == State::Waiting) {
            store();
            m_state = State::Answered;
            if (m_waiting)
                QCoreApplication::postEvent(this, new QEvent(wakeEvent));
            return;
        }
        if (m_options.lateAnswers)
            ++*m_options.lateAnswers;
        if (m_state == State::Abandoned) {
            m_state = State::Answered;
            Abandoned::remove(this);
            deleteLater();
        }
    }

    bool abandoned() const
    {
        const std::lock_guard lock(m_mutex);
        return m_state == State::Abandoned;
    }

private:
    enum class State : quint8 { Waiting, Answered, Abandoned };

    bool isAnswered() const
    {
        const std::lock_guard lock(m_mutex);
        return m_state == State::Answered;
    }

    bool suspend(std::coroutine_handle<> waiting, int deadlineMs)
    {
        const std::lock_guard lock(m_mutex);
        if (m_state == State::Answered)
            return false;
        m_waiting = waiting;
        m_timer = startTimer(deadlineMs);
        if (m_options.stop.stop_possible()) {
            m_onStop.emplace(m_options.stop,
                             [this] { QCoreApplication::postEvent(this, new QEvent(wakeEvent)); });
        }
        return true;
    }

    void timerEvent(QTimerEvent *) override
    {
        m_timedOut = true;
        resume();
    }

    void customEvent(QEvent *) override { resume(); }

    void resume()
    {
        std::coroutine_handle<> waiting;
        {
            const std::lock_guard lock(m_mutex);
            waiting = std::exchange(m_waiting, nullptr);
        }
        if (!waiting)
            return; // woken twice
        killTimer(m_timer);
        m_onStop.reset();
        waiting.resume(); // may delete this
    }

    CallOptions m_options;
    mutable std::mutex m_mutex;
    State m_state = State::Waiting;
    std::coroutine_handle<> m_waiting;
    int m_timer = 0;
    bool m_timedOut = false;
    std::optional<std::stop_callback<std::function<void()>>> m_onStop;
};

/// isAbandoned() overrides the one of Reply; QuotaReply has none.
template<typename Base, typename Value>
class PendingReply final : public PendingCall, public Base {
public:
    using PendingCall::PendingCall;

    void finish(const Status &status, const Value &value) override
    {
        answer([&] {
            m_status = status;
            m_value = value;
        });
    }

    bool isAbandoned() const { return abandoned(); }

    Result<Value> takeResult()
    {
        if (m_status.ok())
            return std::move(m_value);
        return fail(std::move(m_status));
    }

private:
    Status m_status;
    Value m_value;
};

tl::unexpected<Error> unanswered(const QString &code, const QString &text)
{
    return fail(code, text, {{u"unanswered"_s, true}});
}

/// Runs begin; the sentence of what it threw, or empty.
template<typename Base>
std::optional<QString> exceptionOf(const std::function<void(Base *)> &begin, Base *reply)
{
    try {
        begin(reply);
        return std::nullopt;
    } catch (const std::exception &exception) {
        return QString::fromUtf8(exception.what());
    } catch (...) {
        return u"something that is not a std::exception"_s;
    }
}

template<typename Base, typename Value>
QCoro::Task<Result<Value>> callPlugin(int deadlineMs, std::function<void(Base *)> begin, CallOptions options)
{
    auto *reply = new PendingReply<Base, Value>(std::move(options));
    const std::optional<QString> thrown = exceptionOf<Base>(begin, reply);
    if (!thrown) {
        PendingCall::Awaiter awaiter{*reply, deadlineMs};
        co_await awaiter;
    }
    Result<Value> result =
        unanswered(u"stopping"_s, u"The engine stops and does not wait for the plugin any more."_s);
    if (reply->settle()) {
        result = reply->takeResult();
        delete reply;
    } else if (reply->isTimedOut()) {
        result = unanswered(u"timeout"_s, u"The plugin did not answer within %1 ms."_s.arg(deadlineMs));
    }
    if (thrown) // the worse news: an answer given before it does not count
        result = unanswered(u"plugin_exception"_s, u"The plugin threw an exception: %1."_s.arg(*thrown));
    co_return result;
}

} // namespace

bool isUnanswered(const Error &error)
{
    return error.details.value("unanswered"_L1).toBool();
}

QCoro::Task<Result<QJsonObject>> call(int deadlineMs, std::function<void(Reply *)> begin, CallOptions options)
{
    return callPlugin<Reply, QJsonObject>(deadlineMs, std::move(begin), std::move(options));
}

QCoro::Task<Result<QuotaAnswer>> callQuota(int deadlineMs, std::function<void(QuotaReply *)> begin,
                                           CallOptions options)
{
    return callPlugin<QuotaReply, QuotaAnswer>(deadlineMs, std::move(begin), std::move(options));
}

} // namespace tidekeeper::pluginhost
