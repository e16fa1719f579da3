// SPDX-License-Identifier: Apache-2.0
#include "app/signals.h"

#include <csignal>
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
    m_fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    m_notifier = std::make_unique<QSocketNotifier>(m_fd, QSocketNotifier::Read);
    connect(m_notifier.get(), &QSocketNotifier::activated, this, &Signals::read);
}

Signals::~Signals()
{
    m_notifier.reset();
    ::close(m_fd);
}

void Signals::read()
{
    signalfd_siginfo info{};
    while (::read(m_fd, &info, sizeof info) == ssize_t(sizeof info)) {
        if (info.ssi_signo == SIGHUP)
            Q_EMIT reloadRequested();
        else
            Q_EMIT stopRequested();
    }
}

} // namespace tidekeeper::app
