// SPDX-License-Identifier: Apache-2.0
#include "queue/replicatedcalls.h"

#include "queue/jobqueue.h"
#include "queue/queuecall.h"
#include "redis/callbackawaiter.h"

#include <QtCore/QTimer>

using namespace Qt::StringLiterals;

namespace tidekeeper::queue {

namespace {

constexpr int graceMs = 2'000; ///< for the answer to WAIT, beyond its own time

Error notReplicated(const QString &why)
{
    return {u"not_replicated"_s,
            u"Queued, but %1. Repeating it with the same dedupe key is harmless."_s.arg(why),
            {{u"queued"_s, true}}};
}

/// What WAIT answered, as the fate of the calls before it.
Result<> judged(const Result<redis::Value> &replicas)
{
    if (!replicas)
        return fail(notReplicated(
            u"the connection failed before a replica confirmed it (%1)"_s.arg(replicas.error().code)));
    if (replicas->isError())
        return fail(notReplicated(u"Redis refuses WAIT, without which no replica can confirm it (%1)"_s.arg(
            QString::fromUtf8(replicas->text))));
    if (replicas->toInteger() < 1)
        return fail(notReplicated(u"no replica confirmed it within %1 ms"_s.arg(ReplicatedCalls::confirmMs)));
    return {};
}

} // namespace

ReplicatedCalls::ReplicatedCalls(redis::Endpoint endpoint)
    : m_connection(std::move(endpoint)), m_library(m_connection, "tidekeeper_queue", libraryCode())
{
    m_connection.open();
}

ReplicatedCalls::~ReplicatedCalls()
{
    m_isWaiting = true; // whoever ends now sends nothing more
    m_connection.close();
    const auto left = std::exchange(m_unconfirmed, {});
    settle(left, fail(notReplicated(u"this engine is stopping"_s)));
}

QCoro::Task<Result<redis::Value>> ReplicatedCalls::call(QByteArray function, QByteArray key,
                                                        QList<QByteArray> arguments)
{
    const bool isReady = co_await m_connection.waitReady(confirmMs);
    if (!isReady) // perhaps because this object ends: nothing of it is used
        co_return fail(u"redis_unavailable"_s, u"Redis was not connected within %1 ms."_s.arg(confirmMs));
    Result<redis::Value> reply =
        co_await callFunction(m_library, std::move(function), std::move(key), std::move(arguments));
    if (!reply)
        co_return reply;
    auto settled = redis::awaitCallback<Result<>>([this](Done done) { confirm(std::move(done)); });
    const Result<> confirmed = co_await settled;
    if (!confirmed)
        co_return fail(confirmed.error());
    co_return reply;
}

void ReplicatedCalls::confirm(Done done)
{
    m_unconfirmed.push_back(std::move(done));
    if (std::exchange(m_isWaiting, true))
        return;
    // Answers that came in one piece end in this turn of the event loop, and one WAIT is enough for them.
    QTimer::singleShot(0, &m_connection, [this] { sendWait(); });
}

void ReplicatedCalls::sendWait()
{
    auto answered = [this,
                     calls = std::exchange(m_unconfirmed, {})](const Result<redis::Value> &replicas) mutable {
        if (!replicas) { // those who ended since then were on the same link
            calls.insert(calls.end(), m_unconfirmed.begin(), m_unconfirmed.end());
            m_unconfirmed.clear();
        }
        m_isWaiting = !m_unconfirmed.empty();
        if (m_isWaiting)
            sendWait();
        settle(calls, judged(replicas));
    };
    const QList<QByteArray> wait{"WAIT", "1", QByteArray::number(confirmMs)};
    m_connection.send(wait, std::move(answered), confirmMs + graceMs);
}

void ReplicatedCalls::settle(const std::vector<Done> &calls, const Result<> &result)
{
    for (const Done &done : calls)
        done(result);
}

} // namespace tidekeeper::queue
