// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.h"

#include <QtCore/QStringList>

#include <functional>

namespace tidekeeper::faults {

/// What came of one trial.
struct Verdict {
    QString figures; ///< for people, such as "400 jobs, 3 kills"
    QStringList faults; ///< what should not be; empty: passed
};

struct Case {
    QString name;
    std::function<Verdict(unsigned seed, bool isSmall)> run;
};

/// Runs the wanted cases, round after round with new seeds, prints a line for each with its seed (that alone repeats it:
/// --only NAME --seed N), and answers the exit code: 0 when all passed.
int runRounds(const Options &options, const QList<Case> &cases);

} // namespace tidekeeper::faults
