// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/reply.h>

#include <QtCore/QPointer>

#include <utility>

namespace tidekeeper {

// These templates are compiled into the plugin; only Reply and QuotaReply cross the boundary.

namespace detail {

template<typename Base, typename Result, typename Function>
class Callback final : public Base {
public:
    Callback(QObject *context, Function function) : m_context(context), m_function(std::move(function)) { }

    void finish(const Status &status, const Result &result) override
    {
        if (m_context)
            m_function(status, result);
        delete this;
    }

    bool isAbandoned() const { return m_context.isNull(); }

private:
    QPointer<QObject> m_context;
    Function m_function;
};

} // namespace detail

/// A reply for a call to a service: runs function(status, result) once on the main thread, unless context was
/// destroyed before; then deletes itself.
template<typename Function>
Reply *whenDone(QObject *context, Function function)
{
    return new detail::Callback<Reply, QJsonObject, Function>(context, std::move(function));
}

/// As whenDone, for Limiters and Buckets.
template<typename Function>
QuotaReply *whenDecided(QObject *context, Function function)
{
    return new detail::Callback<QuotaReply, QuotaAnswer, Function>(context, std::move(function));
}

} // namespace tidekeeper
