// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/jobqueue.h"

namespace tidekeeper::faults {

/// A job and what is to become of it. Its payload tells the handler of the worker process how to behave.
struct Wish {
    int workMs = 5;
    int fails = 0; ///< so often, then it succeeds
    int defers = 0;
    int releases = 0; ///< so often by each process that meets it
    int diesAt = 0; ///< kills its process at each start up to this one
    int hangsMs = 0; ///< its first start takes so long, and blocks nothing
    bool isHopeless = false; ///< the handler makes it a dead letter
    qint64 delayMs = 0;
    bool urgent = false;
    bool hasKey = true; ///< a dedupe key of its own

    int number = 0; ///< names it in payload and journal
    int repeats = 0; ///< times the producer asked again without knowing whether it was heard
    QString job; ///< id that the producer was told in the end

    QJsonObject payload() const
    {
        using namespace Qt::StringLiterals;
        return {{u"number"_s, number}, {u"work"_s, workMs},        {u"fails"_s, fails},
                {u"defers"_s, defers}, {u"releases"_s, releases},  {u"dies_at"_s, diesAt},
                {u"hangs"_s, hangsMs}, {u"hopeless"_s, isHopeless}};
    }
    queue::JobSpec spec() const
    {
        using namespace Qt::StringLiterals;
        queue::JobSpec spec;
        spec.type = u"work"_s;
        spec.payload = payload();
        spec.dedupeKey = hasKey ? u"key-%1"_s.arg(number) : QString();
        spec.delayMs = delayMs;
        spec.urgent = urgent;
        return spec;
    }
    /// It never ends in order, so it becomes a dead letter after that many starts.
    bool isPoison(int maxStarts) const { return diesAt >= maxStarts; }
};

} // namespace tidekeeper::faults
