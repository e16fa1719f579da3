// SPDX-License-Identifier: Apache-2.0
#include "google/quota/slidingwindow.h"

#include <algorithm>

namespace tidekeeper::googlesim {

qint64 SlidingWindow::sum(qint64 nowUs)
{
    while (!m_charges.empty() && m_charges.front().atUs <= nowUs - m_lengthUs) {
        m_sum -= m_charges.front().units;
        m_charges.pop_front();
    }
    return m_sum;
}

void SlidingWindow::add(qint64 nowUs, qint64 units)
{
    sum(nowUs);
    if (!m_charges.empty() && m_charges.back().atUs == nowUs)
        m_charges.back().units += units;
    else
        m_charges.push_back({nowUs, units});
    m_sum += units;
    m_worst = std::max(m_worst, m_sum);
}

} // namespace tidekeeper::googlesim
