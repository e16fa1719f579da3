// SPDX-License-Identifier: Apache-2.0
#include "app/systemclock.h"

#include <chrono>

namespace tidekeeper::app {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

qint64 SystemClock::nowMs() const
{
    return duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

qint64 SystemClock::monotonicMs() const
{
    return duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace tidekeeper::app
