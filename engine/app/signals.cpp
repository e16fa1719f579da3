// SPDX-License-Identifier: Apache-2.0
#include "app/signals.h"

#include "app/exitcode.h"

#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace tidekeeper::app {

Signals::Signals(QObject *parent) : QObject(parent)
{
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGTERM, SIGINT, SIGHUP})
        ::sigaddset(&set, number);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    m_signals = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    m_end = ::eventfd(0, EFD_CLOEXEC);
    m_thread = std::thread([this] { read(); });
}

Signals::~Signals()
{
    ::eventfd_write(m_end, 1);
    m_thread.join();
    ::close(m_end);
    ::close(m_signals);
}

void Signals::read()
{
    pollfd watched[] = {{m_signals, POLLIN, 0}, {m_end, POLLIN, 0}};
    while (watched[1].revents == 0) {
        if (::poll(watched, std::size(watched), -1) < 0)
            continue; // interrupted
        signalfd_siginfo info{};
        while (::read(m_signals, &info, sizeof info) == ssize_t(sizeof info))
            handle(static_cast<int>(info.ssi_signo));
    }
}

void Signals::handle(int number)
{
    if (number == SIGHUP) {
        Q_EMIT reloadRequested();
    } else if (m_isStopping) {
        std::_Exit(int(ExitCode::CutShort));
    } else {
        m_isStopping = true;
        Q_EMIT stopRequested();
    }
}

} // namespace tidekeeper::app
