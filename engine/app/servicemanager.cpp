// SPDX-License-Identifier: Apache-2.0
#include "app/servicemanager.h"

#include <systemd/sd-daemon.h>

#include <chrono>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

ServiceManager::ServiceManager(QObject *parent) : QObject(parent)
{
    uint64_t intervalUs = 0;
    if (::sd_watchdog_enabled(0, &intervalUs) <= 0)
        return;
    m_watchdog.setInterval(
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::microseconds(intervalUs / 2)));
    connect(&m_watchdog, &QTimer::timeout, this, [] { ::sd_notify(0, "WATCHDOG=1"); });
    m_watchdog.start();
}

void ServiceManager::ready(const QString &status)
{
    ::sd_notify(0, u"READY=1\nSTATUS=%1"_s.arg(status).toUtf8().constData());
}

void ServiceManager::stopping()
{
    ::sd_notify(0, "STOPPING=1");
}

} // namespace tidekeeper::app
