// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/session.h"

// Each adds its verbs to the program.
namespace tidekeeper::cli {

void addStatus(CLI::App &app, Session &session);
void addAccounts(CLI::App &app, Session &session);
void addAccountActions(CLI::App &accounts, Session &session); ///< accounts renew, pause, resume, rm
void addAccountViews(CLI::App &accounts, Session &session); ///< accounts explain, timeline, adopt
void addRenew(CLI::App &accounts, Session &session); ///< accounts renew
void addImport(CLI::App &accounts, Session &session); ///< accounts import
void addExport(CLI::App &accounts, Session &session); ///< accounts export
void addWaves(CLI::App &accounts, Session &session); ///< accounts wave list, confirm
void addLimiter(CLI::App &app, Session &session);
void addBuckets(CLI::App &app, Session &session);
void addSchedules(CLI::App &app, Session &session);
void addCron(CLI::App &app, Session &session);
void addQueue(CLI::App &app, Session &session);
void addQueueMoves(CLI::App &queue, Session &session); ///< queue requeue, discard, restore
void addPlugins(CLI::App &app, Session &session); ///< plugins, plugin check
void addConfig(CLI::App &app, Session &session);
void addSimulate(CLI::App &app, Session &session);

} // namespace tidekeeper::cli
