// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/services.h>

#include <atomic>

namespace tidekeeper::test {

/// A clock that moves only when the test says so.
class FakeClock final : public Clock {
public:
    explicit FakeClock(qint64 nowMs = 1'800'000'000'000) : m_nowMs(nowMs) { }

    qint64 nowMs() const override { return m_nowMs; }
    qint64 monotonicMs() const override { return m_monotonicMs; }

    void advance(qint64 ms)
    {
        m_nowMs += ms;
        m_monotonicMs += ms;
    }
    /// A step of the wall clock alone.
    void step(qint64 ms) { m_nowMs += ms; }

private:
    std::atomic<qint64> m_nowMs;
    std::atomic<qint64> m_monotonicMs = 0;
};

} // namespace tidekeeper::test
