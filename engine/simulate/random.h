// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

namespace tidekeeper::simulate {

/// SplitMix64: the same numbers on every machine, which the distributions of the standard library do not promise.
class Random {
public:
    explicit Random(quint64 seed) : m_state(seed) { }

    /// 0 ≤ x < 1
    double next()
    {
        m_state += 0x9e3779b97f4a7c15ULL;
        quint64 z = m_state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        z ^= z >> 31;
        return static_cast<double>(z >> 11) / static_cast<double>(1ULL << 53);
    }
    bool happens(double probability) { return probability > 0 && next() < probability; }

private:
    quint64 m_state;
};

} // namespace tidekeeper::simulate
