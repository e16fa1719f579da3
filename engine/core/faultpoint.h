// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

/// TIDEKEEPER_FAULT_POINT("queue.started"): a step between two moves at which a test may let the process die. Only in
/// builds with the CMake option TIDEKEEPER_FAULT_POINTS, which packages are not made from; elsewhere it is nothing.
///
/// Such a build arms points by the environment: TIDEKEEPER_FAULT=queue.started:3:kill makes the third passage the
/// last (SIGKILL to itself), :stop holds the process there (SIGSTOP) until SIGCONT. Several are separated by commas.
#ifdef TIDEKEEPER_FAULT_POINTS
#define TIDEKEEPER_FAULT_POINT(name) ::tidekeeper::core::passFaultPoint(name)
#else
#define TIDEKEEPER_FAULT_POINT(name) static_cast<void>(0)
#endif

namespace tidekeeper::core {

#ifdef TIDEKEEPER_FAULT_POINTS
inline constexpr bool hasFaultPoints = true;
void passFaultPoint(std::string_view name); ///< any thread

/// The calendar of a test that lives through days in minutes: TIDEKEEPER_CLOCK=START:SPEED lets the time since START
/// (epoch ms) pass SPEED times as fast. Deadlines, leases and pauses, which are monotonic, keep their length. Any thread.
std::int64_t calendarMs(std::int64_t realMs);
#else
inline constexpr bool hasFaultPoints = false;
constexpr std::int64_t calendarMs(std::int64_t realMs)
{
    return realMs;
}
#endif

} // namespace tidekeeper::core
