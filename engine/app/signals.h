// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QObject>

#include <thread>

namespace tidekeeper::app {

/// SIGTERM, SIGINT and SIGHUP as Qt signals; SIGPIPE ignored. They are read in a thread of their own: a second
/// SIGTERM or SIGINT ends the process at once with ExitCode::CutShort, also while the main thread hangs. Make it
/// before any other thread is started, so that all threads inherit the mask. [main]
class Signals : public QObject {
    Q_OBJECT

public:
    explicit Signals(QObject *parent = nullptr);
    ~Signals() override;

Q_SIGNALS:
    void stopRequested(); ///< once; emitted in the thread of the signals
    void reloadRequested(); ///< as above

private:
    void read();
    void handle(int number);

    int m_signals = -1;
    int m_end = -1; ///< readable when the thread is to end
    bool m_isStopping = false;
    std::thread m_thread;
};

} // namespace tidekeeper::app
