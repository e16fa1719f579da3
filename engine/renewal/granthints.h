// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/grantdeathstore.h"

#include <tidekeeper/services.h>

#include <QtCore/QJsonArray>
#include <QtCore/QJsonObject>
#include <QtCore/QTimer>

#include <functional>

namespace tidekeeper::renewal {

/// Notices clients whose grants end at 7 days, and says so once a month as `consent_screen_in_testing`. Every engine
/// looks; the database lets one of them tell. Main thread.
class GrantHints : public QObject {
    Q_OBJECT

public:
    using Publish = std::function<void(const QString &type, const QJsonObject &event)>;

    static const QString code;
    static constexpr int everyMs = 5 * 60'000;
    static constexpr qint64 keptDays = 30; ///< deaths, and what was told

    GrantHints(store::GrantDeathStore &deaths, const Clock &clock, Publish publish,
               QObject *parent = nullptr);

    void start(); ///< looks now, then every five minutes
    void stop() { m_timer.stop(); }
    QCoro::Task<> look();

    /// As of the last look: [{"code", "project", "client", "deaths", "text"}].
    QJsonArray status() const;
    /// The text about this client; empty = there is none.
    QString of(const QString &project, const QString &client) const;

private:
    QCoro::Task<> tell(core::ShortLivedClient client, qint64 nowMs);

    store::GrantDeathStore &m_deaths;
    const Clock &m_clock;
    Publish m_publish;
    QTimer m_timer;
    QList<core::ShortLivedClient> m_clients;
    qint64 m_prunedAt = 0;
};

} // namespace tidekeeper::renewal
