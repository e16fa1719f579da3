// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QProcess>
#include <QtCore/QStringList>

#include <memory>
#include <vector>

namespace tidekeeper::faults {

struct WorkerSettings {
    int leaseMs = 700;
    int consumers = 3;
    int prefetch = 2;
    int maxStarts = 3;
    int longestRunMs = 600'000;
    int graceMs = 5'000;
    int heartbeatMs = 0; ///< 0: a third of the lease
};

/// Worker processes with a supervisor, which starts one again a short time after it died.
class Workers : public QObject {
    Q_OBJECT

public:
    Workers(QString redisUrl, QString queue, QString journal);
    ~Workers() override; ///< kills those that are left

    /// One more process. faults: TIDEKEEPER_FAULT of its first life, its second …; later ones have none.
    void add(const WorkerSettings &settings, const QStringList &faults = {});
    int count() const { return static_cast<int>(m_workers.size()); }
    qint64 pid(int index) const;
    int deaths() const { return m_deaths; } ///< that the supervisor saw

    void kill(int index); ///< SIGKILL; comes back
    void pause(int index); ///< SIGSTOP
    void resume(int index); ///< SIGCONT
    /// SIGTERM to this one, which does not come back: its exit code; −1 when it was not gone in time or crashed.
    int terminate(int index, int ms);
    /// SIGTERM to all, with resume; what was not in order.
    QStringList terminateAll(int ms);
    void setRestarts(bool on) { m_restarts = on; }

private:
    struct One {
        WorkerSettings settings;
        QStringList faults;
        std::unique_ptr<QProcess> process;
        bool isDismissed = false;
    };
    void start(One &one);
    void onFinished(One &one);

    QString m_redisUrl, m_queue, m_journal;
    std::vector<std::unique_ptr<One>> m_workers;
    int m_deaths = 0;
    bool m_restarts = true;
};

} // namespace tidekeeper::faults
