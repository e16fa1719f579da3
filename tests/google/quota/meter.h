// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/quota/slidingwindow.h"

#include <QtCore/QHash>
#include <QtCore/QString>

namespace tidekeeper::googlesim {

/// What one user of a project, or a project as a whole, has used.
struct Usage {
    SlidingWindow minute{60'000'000};
    SlidingWindow burst{18'000'000}; ///< of users only
    int inFlight = 0;
    int worstInFlight = 0;
    qint64 calls = 0; ///< asked with a good token, whatever came back
    qint64 units = 0; ///< of admitted calls
    qint64 refused = 0;
    qint64 refusedUnits = 0;
    QHash<QString, qint64> refusedBy; ///< by verdict, or by the kind of the fault
    QHash<QString, qint64> callsByMethod;
};

struct Limits {
    qint64 userPerMinute = 0;
    qint64 projectPerMinute = 0;
    qint64 concurrency = 0; ///< calls in flight per user
    bool chargeRefused = false; ///< whether a refused call moves the windows too; not known of Google
};

enum class Verdict : quint8 { Admitted, Concurrency, UserMinute, UserBurst, ProjectMinute };
QString
toString(Verdict verdict); ///< "admitted", "concurrency", "user_minute", "user_burst", "project_minute"

/// Decides one call of the given cost at its arrival and books it. A user may spend the limit in any 60 s and half of
/// it in any 18 s; the project has a minute of its own.
Verdict admit(Usage &user, Usage &project, qint64 cost, const Limits &limits, qint64 nowUs);

/// Books a call that was refused for another reason than these limits.
void bookRefusal(Usage &user, Usage &project, qint64 cost, const QString &reason, bool charge, qint64 nowUs);

} // namespace tidekeeper::googlesim
