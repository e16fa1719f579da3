// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/activeaccounts.h"
#include "limits/projects.h"

#include <QtCore/QTimer>

namespace tidekeeper::limits {

/// Tells Redis, once a second and apart from the decisions, which accounts are active and what was granted to whom, so
/// that the levels of all engines can be listed; and that this engine lives. Small commands, a few per turn of the
/// event loop: a decision waits for none of it longer than Redis needs for 500 members. Thread of the connection.
///
/// What cannot be written because Redis is away is written later or forgotten: nothing depends on it but the list.
class LevelIndex final : public QObject {
    Q_OBJECT

public:
    LevelIndex(redis::RedisConnection &connection, Projects &projects, const Clock &clock,
               QObject *parent = nullptr);

    /// This process among those that share the limits.
    const QByteArray &engineId() const { return m_engineId; }

Q_SIGNALS:
    /// Once a second for each project: engines seen in the last ten seconds, at least 1.
    void enginesCounted(const QString &limiter, const QString &project, int engines);

private:
    void writeNextPart();
    void write(const Project &project, const ActiveAccounts::Changes &changes);
    void keepHouse();
    void sayThatWeLive(const Project &project);
    void forgetFullAccounts(const Project &project);
    bool canWrite() const;

    redis::RedisConnection &m_connection;
    Projects &m_projects;
    const Clock &m_clock;
    const QByteArray m_engineId;
    QTimer m_partTimer;
    QTimer m_houseTimer;
    int m_part = 0;
};

} // namespace tidekeeper::limits
