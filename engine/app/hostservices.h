// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/jobqueue.h"

#include <tidekeeper/services.h>

#include <QtCore/QObject>

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

} // namespace tidekeeper::app
