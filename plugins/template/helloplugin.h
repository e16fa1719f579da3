// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/services.h>

namespace hello {

/// Greets when it starts, and runs jobs of the type "hello", one of them each day.
class HelloPlugin final : public QObject, public tidekeeper::Plugin, public tidekeeper::JobHandler {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID TIDEKEEPER_PLUGIN_IID FILE "hello.json")
    Q_INTERFACES(tidekeeper::Plugin tidekeeper::JobHandler)

public:
    tidekeeper::Status initialize(tidekeeper::Host *host) override;
    void start(tidekeeper::Reply *reply) override;
    void stop(tidekeeper::Reply *reply) override;

    QJsonObject describe() const override;
    void run(const QJsonObject &job, tidekeeper::Reply *reply) override;

private:
    tidekeeper::Host *m_host = nullptr;
    tidekeeper::Clock *m_clock = nullptr;
    tidekeeper::Scheduler *m_scheduler = nullptr;
    QString m_greeting;
};

} // namespace hello
