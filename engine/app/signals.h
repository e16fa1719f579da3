// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QObject>
#include <QtCore/QSocketNotifier>

#include <memory>

namespace tidekeeper::app {

/// SIGTERM, SIGINT and SIGHUP as Qt signals; SIGPIPE ignored. Make it before any thread is started, so that all
/// threads inherit the mask. [main]
class Signals : public QObject {
    Q_OBJECT

public:
    explicit Signals(QObject *parent = nullptr);
    ~Signals() override;

Q_SIGNALS:
    void stopRequested();
    void reloadRequested();

private:
    void read();

    int m_fd = -1;
    std::unique_ptr<QSocketNotifier> m_notifier;
};

} // namespace tidekeeper::app
