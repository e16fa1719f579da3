// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

#include <string>

namespace CLI {
class App;
}

namespace tidekeeper::faults {

/// What run.sh says to the program of each group.
struct Options {
    unsigned seed; ///< of the first trial; each further one takes the next
    double minutes = 0; ///< rounds until so many have passed; at least one
    std::string only; ///< one scenario by name; empty: all
    bool isSmall = false; ///< little work, times not judged: for a machine that does other things too

    Options(); ///< a random seed
    void addTo(CLI::App &cli);
    bool wants(const QString &scenario) const;
};

} // namespace tidekeeper::faults
