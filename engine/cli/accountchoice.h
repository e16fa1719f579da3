// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/session.h"

// Verbs that work on one account, several or all that match.
namespace tidekeeper::cli {

struct AccountChoice {
    std::vector<std::string> ids;
    std::string band;
    std::string state;
    std::string expiringWithin;
    std::string project;
    std::string query;
    bool all = false;
    bool dryRun = false;
    bool yes = false;

    /// The ids and options of the verb; what the state may be is in `states`, empty = there is no choice.
    void addTo(CLI::App *command, const std::string &states);
    /// {"filter": {…}} or {"ids": […]}; usage when nothing or both are chosen.
    Result<QJsonObject> selection() const;
};

QString accountPath(const std::string &id, const QString &verb);

/// The same call for each account; goes on after a refusal, stops when no engine answers.
Result<ExitCode> each(Session &session, const std::vector<std::string> &ids, const QByteArray &method,
                      const QString &verb, const QString &done, const QJsonObject &body = {});

/// POST /api/v1/accounts{verb} with a selection, in parts with a bar that shows how far it is. The sums of all parts
/// under doneName, and what was skipped; a failure says how far it came.
Result<QJsonObject> sendInParts(Session &session, const QString &verb, QJsonObject selection,
                                const QString &doneName);

/// Those that the engine left alone, and why.
void printSkipped(Session &session, const QJsonObject &answer);

} // namespace tidekeeper::cli
