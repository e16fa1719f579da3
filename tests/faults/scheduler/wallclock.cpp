// SPDX-License-Identifier: Apache-2.0
// Preloaded into one process, it moves this process's wall clock by TIDEKEEPER_WALL_OFFSET_S seconds and leaves its
// monotonic clocks alone.
#include <cstdlib>
#include <ctime>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

long offsetS()
{
    static const char *const variable = std::getenv("TIDEKEEPER_WALL_OFFSET_S");
    static const long offset = variable ? std::atol(variable) : 0;
    return offset;
}

} // namespace

extern "C" {

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec *time) noexcept
{
    const long result = ::syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += offsetS();
    return static_cast<int>(result);
}

[[gnu::visibility("default")]] int gettimeofday(timeval *time, void *) noexcept
{
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    *time = {now.tv_sec, now.tv_nsec / 1'000};
    return 0;
}

[[gnu::visibility("default")]] time_t time(time_t *time) noexcept
{
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (time)
        *time = now.tv_sec;
    return now.tv_sec;
}
}
