// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QCoro/QCoroTask>

#include <functional>
#include <memory>

namespace tidekeeper::queue {
class Leases;
}

namespace tidekeeper::renewal {

using Sleep = std::function<QCoro::Task<>(qint64 ms)>;

/// A mailbox as it appears in Redis keys and job payloads: a hash, never the address.
QString mailboxKey(const QString &email);

/// Holds a mailbox as long as it lives; null = somebody else holds it.
using MailboxHold = std::shared_ptr<void>;

/// One worker at a time on one mailbox, across engines and accounts: concurrent watch calls are refused by Gmail.
class MailboxLeases {
public:
    virtual ~MailboxLeases() = default;

    /// Waits up to 10 s for a mailbox that is taken.
    virtual QCoro::Task<Result<MailboxHold>> take(QString mailbox) = 0;
};

/// Named leases in Redis: 8 s, renewed every 2.5 s while held. A worker that stalls loses its lease before its job
/// can be taken over.
class RedisMailboxLeases final : public MailboxLeases {
public:
    RedisMailboxLeases(queue::Leases &leases, Sleep sleep) : m_leases(leases), m_sleep(std::move(sleep)) { }

    QCoro::Task<Result<MailboxHold>> take(QString mailbox) override;

private:
    queue::Leases &m_leases;
    Sleep m_sleep;
};

} // namespace tidekeeper::renewal
