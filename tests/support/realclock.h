// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/services.h>

#include <QtCore/QDateTime>
#include <QtCore/QElapsedTimer>

namespace tidekeeper::test {

/// The machine's own clocks: for tests beside a real server, whose time goes on too.
class RealClock final : public Clock {
public:
    RealClock() { m_timer.start(); }
    qint64 nowMs() const override { return QDateTime::currentMSecsSinceEpoch(); }
    qint64 monotonicMs() const override { return m_timer.elapsed(); }

private:
    QElapsedTimer m_timer;
};

} // namespace tidekeeper::test
