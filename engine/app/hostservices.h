// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/sealing.h"
#include "queue/jobqueue.h"
#include "store/accountstore.h"
#include "store/devicestore.h"

#include <tidekeeper/services.h>

#include <QtCore/QObject>

#include <functional>
#include <memory>

namespace tidekeeper::app {

/// Queue for plugins: an adapter from the SDK's Reply to the engine's queue. Main thread.
class QueueService final : public QObject, public Queue {
    Q_OBJECT
    Q_INTERFACES(tidekeeper::Queue)

public:
    explicit QueueService(queue::JobQueue &queue, QObject *parent = nullptr) : QObject(parent), m_queue(queue)
    { }

    void enqueue(const QJsonObject &job, Reply *reply) override;

private:
    queue::JobQueue &m_queue;
};

/// Accounts for plugins: adapters from the SDK's Reply to the stores. Here alone push tokens are opened. Main thread.
class AccountsService final : public QObject, public Accounts {
    Q_OBJECT
    Q_INTERFACES(tidekeeper::Accounts)

public:
    /// windowMs says the renewal window, which bands are measured against.
    AccountsService(store::AccountStore &accounts, store::DeviceStore &devices,
                    std::shared_ptr<const oauth::Sealing> sealing, const Clock &clock,
                    std::function<qint64()> windowMs, QObject *parent = nullptr);

    void account(const QString &id, Reply *reply) override;
    /// A device whose token cannot be opened is left out, with a warning in the log: it stops no other.
    void devices(const QString &accountId, Reply *reply) override;
    void removeDevice(const QString &accountId, const QString &deviceId, Reply *reply) override;

private:
    store::AccountStore &m_accounts;
    store::DeviceStore &m_devices;
    std::shared_ptr<const oauth::Sealing> m_sealing;
    const Clock &m_clock;
    std::function<qint64()> m_windowMs;
};

} // namespace tidekeeper::app
