// SPDX-License-Identifier: Apache-2.0
#include "workers.h"

#include "queue/worker.h"
#include "waiting.h"

#include <QtCore/QCoreApplication>
#include <QtCore/QTimer>

#include <algorithm>
#include <csignal>

#include <sys/prctl.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr int restartMs = 100;

} // namespace

Workers::Workers(QString redisUrl, QString queue, QString journal)
    : m_redisUrl(std::move(redisUrl)), m_queue(std::move(queue)), m_journal(std::move(journal))
{ }

Workers::~Workers()
{
    for (const auto &one : m_workers) {
        one->process->disconnect(this);
        one->process->kill();
        one->process->waitForFinished();
    }
}

void Workers::add(const WorkerSettings &settings, const QStringList &faults)
{
    m_workers.push_back(std::make_unique<One>(One{settings, faults, std::make_unique<QProcess>()}));
    One &one = *m_workers.back();
    one.process->setProcessChannelMode(QProcess::ForwardedChannels);
    one.process->setChildProcessModifier([] {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // not outlive the harness
        sigset_t set;
        ::sigemptyset(&set);
        ::sigaddset(&set, SIGTERM);
        ::pthread_sigmask(SIG_BLOCK, &set, nullptr); // kept until the program reads it
    });
    connect(one.process.get(), &QProcess::finished, this, [this, &one] { onFinished(one); });
    start(one);
}

void Workers::start(One &one)
{
    const WorkerSettings &how = one.settings;
    const auto text = [](int number) { return QString::number(number); };
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    if (!one.faults.isEmpty())
        environment.insert(u"TIDEKEEPER_FAULT"_s, one.faults.takeFirst());
    one.process->setProcessEnvironment(environment);
    one.process->start(QCoreApplication::applicationDirPath() + u"/tidekeeper-faults-worker"_s,
                       {u"--redis"_s,          m_redisUrl,
                        u"--queue"_s,          m_queue,
                        u"--journal"_s,        m_journal,
                        u"--lease-ms"_s,       text(how.leaseMs),
                        u"--heartbeat-ms"_s,   text(how.heartbeatMs > 0 ? how.heartbeatMs : how.leaseMs / 3),
                        u"--consumers"_s,      text(how.consumers),
                        u"--prefetch"_s,       text(how.prefetch),
                        u"--max-starts"_s,     text(how.maxStarts),
                        u"--longest-run-ms"_s, text(how.longestRunMs),
                        u"--grace-ms"_s,       text(how.graceMs),
                        u"--reap-ms"_s,        u"300"_s});
    one.process->waitForStarted();
}

void Workers::onFinished(One &one)
{
    if (one.isDismissed)
        return;
    ++m_deaths;
    if (one.process->exitStatus() == QProcess::NormalExit)
        qWarning("A worker process ended by itself with code %d.", one.process->exitCode());
    if (m_restarts) {
        QTimer::singleShot(restartMs, this, [this, &one] {
            if (!one.isDismissed)
                start(one);
        });
    }
}

qint64 Workers::pid(int index) const
{
    return m_workers[size_t(index)]->process->processId();
}

void Workers::kill(int index)
{
    m_workers[size_t(index)]->process->kill();
}

void Workers::pause(int index)
{
    if (pid(index) > 0)
        ::kill(pid_t(pid(index)), SIGSTOP);
}

void Workers::resume(int index)
{
    if (pid(index) > 0)
        ::kill(pid_t(pid(index)), SIGCONT);
}

int Workers::terminate(int index, int ms)
{
    One &one = *m_workers[size_t(index)];
    one.isDismissed = true;
    if (one.process->state() == QProcess::NotRunning) // it died and was not back yet
        return 0;
    resume(index);
    one.process->terminate();
    const bool isGone = eventually(ms, [&one] { return one.process->state() == QProcess::NotRunning; });
    return isGone && one.process->exitStatus() == QProcess::NormalExit ? one.process->exitCode() : -1;
}

QStringList Workers::terminateAll(int ms)
{
    QStringList faults;
    for (int i = 0; i < count(); ++i) {
        if (!m_workers[size_t(i)]->isDismissed && terminate(i, ms) != 0)
            faults += u"worker %1 did not end in order"_s.arg(i + 1);
    }
    return faults;
}

} // namespace tidekeeper::faults
