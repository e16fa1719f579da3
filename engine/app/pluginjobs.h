// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginhost.h"
#include "queue/worker.h"

#include <tidekeeper/plugin.h>

namespace tidekeeper::app {

/// Runs the jobs of plugins: each type by the one JobHandler that named it. Main thread.
class PluginJobs {
public:
    /// Takes up the types that this handler names; one that another has already stays with that one. What is wrong
    /// with it, in sentences about "it".
    QStringList add(const pluginhost::Implementation<JobHandler> &handler);

    /// Registers every type with the worker. Before its start().
    void serve(queue::Worker &worker);

    /// Waits no longer for any handler; their replies stay valid until they finish them.
    void giveUp() { m_stop.request_stop(); }

    QStringList types() const { return m_runners.keys(); }

private:
    struct Runner {
        JobHandler *handler = nullptr;
        QString pluginId;
        int deadlineMs = 0;
        pluginhost::LateAnswers lateAnswers;
    };

    QCoro::Task<queue::JobOutcome> run(queue::Job job);

    QMap<QString, Runner> m_runners; ///< by job type
    std::stop_source m_stop;
};

/// How a handler's answer ends its job: "retry", "defer" and "dead" as JobHandler::run says, every other failure
/// is a retry. The class is details "class", or else the code.
queue::JobOutcome jobOutcomeFrom(const Result<QJsonObject> &answer);

} // namespace tidekeeper::app
