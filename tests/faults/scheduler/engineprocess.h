// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QList>
#include <QtCore/QProcess>

namespace tidekeeper::faults {

/// One tidekeeper-faults-engine, which may be stopped, continued, killed and started again. All its lives write into
/// one file, one JSON object a line. Killed with the object.
class EngineProcess {
public:
    EngineProcess(QStringList arguments, QString logFile);
    ~EngineProcess();

    /// faults: for TIDEKEEPER_FAULT. clockAheadS: of its wall clock.
    void start(const QByteArray &faults = {}, qint64 clockAheadS = 0);
    void hold(); ///< SIGSTOP
    void resume(); ///< SIGCONT
    void kill(); ///< SIGKILL, and waits for the end
    /// SIGTERM, and waits, continuing it when it is held; false when it does not end in order within 10 s.
    bool stop();

    bool isRunning();
    bool isHeld() const; ///< by a SIGSTOP, whoever sent it

    /// What it has said in all its lives; lines that are not JSON are given as {"event": "log", "text"}.
    const QList<QJsonObject> &events();

private:
    QStringList m_arguments;
    QString m_logFile;
    qint64 m_readTo = 0;
    QList<QJsonObject> m_events;
    QProcess m_process;
};

} // namespace tidekeeper::faults
