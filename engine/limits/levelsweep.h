// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/projects.h"

#include <QtCore/QTimer>

namespace tidekeeper::limits {

/// Finds accounts whose clients call the functions in Redis themselves, without an engine, and puts them into the list
/// of levels. Once a second, in one engine at a time, one SCAN over 500 keys; what it finds is looked at in small
/// pieces. A round takes (keys of the whole Redis ÷ 500) seconds. Thread of the connection.
class LevelSweep final : public QObject {
    Q_OBJECT

public:
    LevelSweep(redis::RedisConnection &connection, Projects &projects, const Clock &clock,
               QObject *parent = nullptr);

private:
    QCoro::Task<> sweep();
    QCoro::Task<QByteArrayList> nextAccountKeys(std::shared_ptr<Project> project);
    QCoro::Task<> addToIndex(std::shared_ptr<Project> project, QByteArrayList accountKeys);

    redis::RedisConnection &m_connection;
    Projects &m_projects;
    const Clock &m_clock;
    QTimer m_timer;
    bool m_isSweeping = false;
};

} // namespace tidekeeper::limits
