// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <tidekeeper/reply.h>

#include <QCoro/QCoroTask>

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>

namespace tidekeeper::pluginhost {

/// Answers of one plugin that came after nobody waited any more.
using LateAnswers = std::shared_ptr<std::atomic<qint64>>;

struct CallOptions {
    LateAnswers lateAnswers; ///< may be null
    std::stop_token stop; ///< gives the call up at once, as a time-out does
};

/// Calls a plugin: begin(reply) hands it the reply, and the task ends with what the plugin finished it with.
/// Besides the plugin's own failures: timeout, plugin_exception (begin threw), stopping (options.stop).
/// Resumes on the main thread, never inside the plugin's finish(). After a failure of ours the reply stays
/// valid until the plugin finishes it. [main]
QCoro::Task<Result<QJsonObject>> call(int deadlineMs, std::function<void(Reply *)> begin,
                                      CallOptions options = {});

/// True for a failure of ours, as against one that the plugin answered with and that may have the same code.
bool isUnanswered(const Error &error);

/// As call, for limiters.
QCoro::Task<Result<QuotaAnswer>> callQuota(int deadlineMs, std::function<void(QuotaReply *)> begin,
                                           CallOptions options = {});

} // namespace tidekeeper::pluginhost
