// SPDX-License-Identifier: Apache-2.0
#include "helloplugin.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace hello {

Status HelloPlugin::initialize(Host *host)
{
    m_host = host;
    m_clock = service<Clock>(host);
    m_scheduler = service<Scheduler>(host);
    m_greeting = host->configuration().value("greeting"_L1).toString();
    return Status::success();
}

void HelloPlugin::start(Reply *reply)
{
    m_host->log(1, u"%1, it is %2 ms since the epoch."_s.arg(m_greeting).arg(m_clock->nowMs()));
    // Each day at noon, UTC, a job of our own type. Operators may change, pause or run it; what they did wins.
    reply->finish(m_scheduler->declare({{u"id"_s, u"hello-daily"_s},
                                        {u"title"_s, u"Greet the world"_s},
                                        {u"cron"_s, u"0 12 * * *"_s},
                                        {u"job"_s,
                                         QJsonObject{{u"type"_s, u"hello"_s},
                                                     {u"payload"_s, QJsonObject{{u"name"_s, u"world"_s}}}}}}),
                  {});
}

void HelloPlugin::stop(Reply *reply)
{
    // Nothing of ours runs in the background, so there is nothing to wait for.
    reply->finish(Status::success(), {});
}

QJsonObject HelloPlugin::describe() const
{
    return {{u"types"_s, QJsonArray{u"hello"_s}}};
}

void HelloPlugin::run(const QJsonObject &job, Reply *reply)
{
    const QString name = job.value("payload"_L1).toObject().value("name"_L1).toString();
    if (name.isEmpty()) {
        reply->finish(Status::failure(u"dead"_s, u"The job has no \"name\"; give one in its payload."_s), {});
        return;
    }
    m_host->log(1, u"%1, %2."_s.arg(m_greeting, name));
    reply->finish(Status::success(), {});
}

} // namespace hello
