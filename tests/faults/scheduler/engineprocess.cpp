// SPDX-License-Identifier: Apache-2.0
#include "engineprocess.h"

#include "shiftedclock.h"

#include <QtCore/QDeadlineTimer>
#include <QtCore/QFile>
#include <QtCore/QJsonDocument>
#include <QtCore/QProcessEnvironment>

#include <csignal>
#include <sys/prctl.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

EngineProcess::EngineProcess(QStringList arguments, QString logFile)
    : m_arguments(std::move(arguments)), m_logFile(std::move(logFile))
{
    // Not even a test that crashes leaves one behind.
    m_process.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGKILL); });
    m_process.setProcessChannelMode(QProcess::MergedChannels);
    m_process.setStandardOutputFile(m_logFile, QIODevice::Append);
}

EngineProcess::~EngineProcess()
{
    kill();
}

void EngineProcess::start(const QByteArray &faults, qint64 clockAheadS)
{
    const ShiftedClock clock(clockAheadS);
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    if (!faults.isEmpty())
        environment.insert(u"TIDEKEEPER_FAULT"_s, QString::fromLatin1(faults));
    m_process.setProcessEnvironment(environment);
    m_process.start(QStringLiteral(TIDEKEEPER_FAULTS_ENGINE), m_arguments);
    m_process.waitForStarted();
}

void EngineProcess::hold()
{
    ::kill(static_cast<pid_t>(m_process.processId()), SIGSTOP);
}

void EngineProcess::resume()
{
    ::kill(static_cast<pid_t>(m_process.processId()), SIGCONT);
}

void EngineProcess::kill()
{
    if (!isRunning())
        return;
    m_process.kill();
    m_process.waitForFinished();
}

bool EngineProcess::stop()
{
    m_process.terminate();
    QDeadlineTimer end(10'000);
    while (isRunning() && !end.hasExpired()) {
        resume(); // it may come to another point at which it is held
        m_process.waitForFinished(100);
    }
    return !isRunning() && m_process.exitStatus() == QProcess::NormalExit && m_process.exitCode() == 0;
}

bool EngineProcess::isRunning()
{
    return m_process.state() != QProcess::NotRunning && !m_process.waitForFinished(0);
}

bool EngineProcess::isHeld() const
{
    QFile file(u"/proc/%1/stat"_s.arg(m_process.processId()));
    if (m_process.processId() == 0 || !file.open(QIODevice::ReadOnly))
        return false;
    const QByteArray stat = file.readAll();
    return stat.mid(stat.lastIndexOf(')') + 2, 1) == "T"; // the name before it may hold anything
}

const QList<QJsonObject> &EngineProcess::events()
{
    QFile file(m_logFile);
    if (!file.open(QIODevice::ReadOnly) || !file.seek(m_readTo))
        return m_events;
    for (QByteArray line = file.readLine(); line.endsWith('\n'); line = file.readLine()) {
        m_readTo += line.size();
        const QJsonDocument json = QJsonDocument::fromJson(line);
        m_events.append(json.isObject() ? json.object()
                                        : QJsonObject{{u"event"_s, u"log"_s},
                                                      {u"text"_s, QString::fromUtf8(line).trimmed()}});
    }
    return m_events;
}

} // namespace tidekeeper::faults
