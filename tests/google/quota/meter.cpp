// SPDX-License-Identifier: Apache-2.0
#include "google/quota/meter.h"

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

Verdict judge(Usage &user, Usage &project, qint64 cost, const Limits &limits, qint64 nowUs)
{
    if (user.inFlight >= limits.concurrency)
        return Verdict::Concurrency;
    if (project.minute.sum(nowUs) + cost > limits.projectPerMinute)
        return Verdict::ProjectMinute;
    if (user.minute.sum(nowUs) + cost > limits.userPerMinute)
        return Verdict::UserMinute;
    if (user.burst.sum(nowUs) + cost > limits.userPerMinute / 2)
        return Verdict::UserBurst;
    return Verdict::Admitted;
}

void charge(Usage &user, Usage &project, qint64 cost, qint64 nowUs)
{
    user.minute.add(nowUs, cost);
    user.burst.add(nowUs, cost);
    project.minute.add(nowUs, cost);
}

void countRefusal(Usage &usage, qint64 cost, const QString &reason)
{
    ++usage.refused;
    usage.refusedUnits += cost;
    ++usage.refusedBy[reason];
}

} // namespace

QString toString(Verdict verdict)
{
    switch (verdict) {
    case Verdict::Admitted:
        return u"admitted"_s;
    case Verdict::Concurrency:
        return u"concurrency"_s;
    case Verdict::UserMinute:
        return u"user_minute"_s;
    case Verdict::UserBurst:
        return u"user_burst"_s;
    case Verdict::ProjectMinute:
        return u"project_minute"_s;
    }
    Q_UNREACHABLE();
}

Verdict admit(Usage &user, Usage &project, qint64 cost, const Limits &limits, qint64 nowUs)
{
    const Verdict verdict = judge(user, project, cost, limits, nowUs);
    if (verdict != Verdict::Admitted) {
        bookRefusal(user, project, cost, toString(verdict), limits.chargeRefused, nowUs);
        return verdict;
    }
    charge(user, project, cost, nowUs);
    user.units += cost;
    project.units += cost;
    return verdict;
}

void bookRefusal(Usage &user, Usage &project, qint64 cost, const QString &reason, bool chargeIt, qint64 nowUs)
{
    if (chargeIt)
        charge(user, project, cost, nowUs);
    countRefusal(user, cost, reason);
    countRefusal(project, cost, reason);
}

} // namespace tidekeeper::googlesim
