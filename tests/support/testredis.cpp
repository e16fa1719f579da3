// SPDX-License-Identifier: Apache-2.0
#include "support/testredis.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QThread>

#include <arpa/inet.h>
#include <csignal>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

namespace {

quint16 freePort()
{
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(fd, reinterpret_cast<sockaddr *>(&address), length);
    ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length);
    ::close(fd);
    return ntohs(address.sin_port);
}

} // namespace

TestRedis::TestRedis(QStringList extra, bool tcp) : m_extra(std::move(extra))
{
    if (tcp)
        m_port = freePort();
}

TestRedis::~TestRedis()
{
    kill();
}

bool TestRedis::start()
{
    const QStringList arguments = QStringList{u"--port"_s,    QString::number(m_port), u"--bind"_s,
                                              u"127.0.0.1"_s, u"--unixsocket"_s,       socketPath(),
                                              u"--dir"_s,     m_folder.path(),         u"--save"_s,
                                              u""_s,          u"--daemonize"_s,        u"no"_s}
        + m_extra;
    // The server must not outlive a test that crashes.
    m_process.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGKILL); });
    m_process.setProcessChannelMode(QProcess::MergedChannels);
    m_process.setStandardOutputFile(m_folder.filePath(u"redis.log"_s));
    m_process.start(u"redis-server"_s, arguments);
    if (!m_process.waitForStarted())
        return false;
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < 10'000) {
        if (cli({u"ping"_s}) == "PONG")
            return true;
        QThread::msleep(10);
    }
    return false;
}

void TestRedis::stop()
{
    if (m_process.state() == QProcess::NotRunning)
        return;
    m_process.terminate();
    m_process.waitForFinished();
}

void TestRedis::kill()
{
    if (m_process.state() == QProcess::NotRunning)
        return;
    m_process.kill();
    m_process.waitForFinished();
}

void TestRedis::pause()
{
    ::kill(static_cast<pid_t>(m_process.processId()), SIGSTOP);
}

void TestRedis::resume()
{
    ::kill(static_cast<pid_t>(m_process.processId()), SIGCONT);
}

QString TestRedis::socketPath() const
{
    return m_folder.filePath(u"redis.sock"_s);
}

QString TestRedis::url() const
{
    return u"unix:"_s + socketPath();
}

QByteArray TestRedis::cli(const QStringList &arguments) const
{
    QProcess process;
    process.start(u"redis-cli"_s, QStringList{u"-s"_s, socketPath()} + arguments);
    process.waitForFinished();
    QByteArray answer = process.readAllStandardOutput();
    if (answer.endsWith('\n'))
        answer.chop(1);
    return answer;
}

} // namespace tidekeeper::test
