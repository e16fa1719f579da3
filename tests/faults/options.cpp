// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <CLI/CLI.hpp>

#include <random>

namespace tidekeeper::faults {

Options::Options() : seed(std::random_device()()) { }

void Options::addTo(CLI::App &cli)
{
    cli.add_option("--seed", seed, "Of everything that is random");
    cli.add_option("--minutes", minutes, "Repeat until so many have passed; at least one round");
    cli.add_option("--only", only, "One scenario by name");
    cli.add_flag("--small", isSmall, "Little work, and times are not judged");
}

bool Options::wants(const QString &scenario) const
{
    return only.empty() || scenario == QString::fromStdString(only);
}

} // namespace tidekeeper::faults
