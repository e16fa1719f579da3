// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QElapsedTimer>
#include <QtCore/QEventLoop>
#include <QtCore/QTimer>

#include <functional>

namespace tidekeeper::faults {

/// Lets the event loop run for so long.
inline void pass(int ms)
{
    QEventLoop loop;
    QTimer::singleShot(ms, &loop, &QEventLoop::quit);
    loop.exec();
}

/// Looks every 20 ms until condition holds; false after ms.
inline bool eventually(int ms, const std::function<bool()> &condition)
{
    QElapsedTimer timer;
    timer.start();
    while (!condition()) {
        if (timer.elapsed() > ms)
            return false;
        pass(20);
    }
    return true;
}

} // namespace tidekeeper::faults
