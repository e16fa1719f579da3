// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/custody.h"
#include "store/settingsstore.h"

#include <tidekeeper/services.h>

#include <QtCore/QObject>
#include <QtCore/QTimer>

#include <functional>
#include <optional>

namespace tidekeeper::renewal {

/// The cluster's id in a Redis that engines share.
class ClusterMark {
public:
    virtual ~ClusterMark() = default;

    /// Empty = it holds none; nothing = it did not answer.
    virtual QCoro::Task<std::optional<QString>> read() = 0;
    /// Only when it holds none; what it holds then.
    virtual QCoro::Task<std::optional<QString>> claim(QString cluster) = 0;
    virtual QCoro::Task<> replace(QString cluster) = 0;
};

/// Keeps two engines from working on two copies of one database: looks at start and once a minute whether this engine is
/// one of those that may work on it, and holds it while it is not. Main thread.
class Custodian final : public QObject {
    Q_OBJECT

public:
    static const QString settingName;

    struct Ports {
        QString engine; ///< this engine's id
        store::SettingsStore &settings;
        ClusterMark *mark; ///< null with a private Redis
        const Clock &clock;
        std::function<void(const QString &reason)> hold; ///< called when the reason changes; empty = works
    };
    explicit Custodian(Ports ports, QObject *parent = nullptr);

    QCoro::Task<> start(); ///< done when it looked once
    void stop();

    /// An operator says that this engine is the one to work; audited. False when it is already. Every other engine on a
    /// database of its own goes on as before, and one on this database with another Redis is held from then on.
    /// Failures: database_unavailable, setting_changed.
    QCoro::Task<Result<bool>> adopt(QString actor);

    const QString &heldBecause() const { return m_reason; }

    QCoro::Task<> look(); ///< what start() does again and again

private:
    QCoro::Task<Result<core::Custody>> judge();
    QCoro::Task<Result<core::CustodyRecord>> read();
    QCoro::Task<Result<>> join(core::CustodyRecord record);
    void settle(const QString &reason);

    Ports m_ports;
    QTimer m_timer;
    QString m_reason;
    bool m_wasJudged = false;
    bool m_isRunning = false;
};

} // namespace tidekeeper::renewal
