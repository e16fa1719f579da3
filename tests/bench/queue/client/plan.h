// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/jobqueue.h"

#include <sys/resource.h>

#include <chrono>

namespace bench {

struct Plan {
    QString socket; ///< of Redis
    QString queue;
    int count = 1; ///< jobs that are measured
    int warm = 0; ///< jobs before them that are not
    int bulk = 1; ///< jobs in one call
    int callers = 1; ///< who each await one call after the other
    int rate = 1'000; ///< jobs a second
    int payloadBytes = 200; ///< of JSON
    int consumers = 1;
    int prefetch = 2;
    int leaseMs = 10'000;
};

/// A connection with the queue's functions on it, ready for use, or an exception.
class Link {
public:
    explicit Link(const Plan &plan);

    tidekeeper::redis::Endpoint endpoint;
    tidekeeper::redis::RedisConnection connection;
    tidekeeper::redis::FunctionLibrary library;
    tidekeeper::queue::JobQueue queue;
};

/// CLOCK_MONOTONIC in µs: the same for all processes of a machine.
inline qint64 monotonicUs()
{
    using namespace std::chrono;
    return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

/// Processor time of this process so far, all threads.
inline qint64 processorUs()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000LL + usage.ru_utime.tv_usec
        + usage.ru_stime.tv_usec;
}

/// Time and processor time since it was made, printed as {"count", "seconds", "cpuUs"}.
class Stopwatch {
public:
    void print(int count) const;

private:
    qint64 m_startUs = monotonicUs();
    qint64 m_startCpuUs = processorUs();
};

/// The verbs of the program, as in main.cpp; a failure is an exception.
void add(const Plan &plan);
void produce(const Plan &plan);
void drain(const Plan &plan);
void consume(const Plan &plan);
void hold(const Plan &plan);

} // namespace bench
