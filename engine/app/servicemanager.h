// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QObject>
#include <QtCore/QTimer>

namespace tidekeeper::app {

/// What systemd is told: ready, reloading, stopping, one status line, and a sign of life of the main thread at half
/// the watchdog's interval. Does nothing when nobody listens. [main]
class ServiceManager : public QObject {
    Q_OBJECT

public:
    explicit ServiceManager(QObject *parent = nullptr);

    void ready(const QString &status);
    void stopping();

private:
    QTimer m_watchdog;
};

} // namespace tidekeeper::app
