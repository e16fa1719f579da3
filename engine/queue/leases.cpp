// SPDX-License-Identifier: Apache-2.0
#include "queue/leases.h"

#include "queue/queuecall.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::queue {

QCoro::Task<Result<LeaseState>> Leases::acquire(QString name, QByteArray owner, qint64 ttlMs, qint64 seenTerm)
{
    QList<QByteArray> arguments{std::move(owner), QByteArray::number(ttlMs), QByteArray::number(seenTerm)};
    const Result<redis::Value> reply =
        co_await callFunction(m_library, "tidekeeper_lease_acquire_v1", leaseKey(name), std::move(arguments));
    if (!reply)
        co_return fail(reply.error());
    if (reply->items.size() != 3)
        co_return fail(u"functions_refused"_s, u"Redis answered a lease in an unknown form."_s);
    co_return LeaseState{reply->items[0].toInteger() == 1, reply->items[1].toInteger(),
                         reply->items[2].toInteger()};
}

QCoro::Task<Result<bool>> Leases::renew(QString name, QByteArray owner, qint64 ttlMs)
{
    QList<QByteArray> arguments{std::move(owner), QByteArray::number(ttlMs)};
    const Result<redis::Value> reply =
        co_await callFunction(m_library, "tidekeeper_lease_renew_v1", leaseKey(name), std::move(arguments));
    if (!reply)
        co_return fail(reply.error());
    co_return reply->toInteger() == 1;
}

QCoro::Task<Result<bool>> Leases::release(QString name, QByteArray owner)
{
    QList<QByteArray> arguments{std::move(owner)};
    const Result<redis::Value> reply =
        co_await callFunction(m_library, "tidekeeper_lease_release_v1", leaseKey(name), std::move(arguments));
    if (!reply)
        co_return fail(reply.error());
    co_return reply->toInteger() == 1;
}

} // namespace tidekeeper::queue
