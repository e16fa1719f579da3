// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <QtCore/QString>

namespace tidekeeper::cli {

/// After a parse that missed a command: a sentence about the word that stands in its place, with the nearest command.
/// Empty when there is no such word.
QString unknownCommand(const CLI::App &app);

} // namespace tidekeeper::cli
