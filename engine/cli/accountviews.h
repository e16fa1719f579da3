// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/session.h"

namespace tidekeeper::cli {

/// What `accounts show` says of an account beside its fields: {"explanation": as GET …/explain, "timeline": its newest
/// entries}.
Result<QJsonObject> storyOf(Session &session, const std::string &id);
void printStory(Session &session, const QJsonObject &story);

} // namespace tidekeeper::cli
