// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/session.h"

#include <QtCore/QStringList>

namespace tidekeeper::cli {

/// The queue that was named; all of the engine when none was.
Result<QStringList> queuesOf(Session &session, const std::string &named);

/// "/api/v1/queues/renew" and what follows.
QString queuePath(const QString &queue, const QString &rest);

} // namespace tidekeeper::cli
