// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/hostservices.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

HostServices::HostServices(const PluginRecord &record, const ServiceRegistry &services, QJsonObject projects,
                           LogFunction log, QObject *root)
    : QObject(root), m_id(record.metadata.id), m_configuration(record.configuration),
      m_projects(std::move(projects)), m_log(std::move(log))
{
    for (const QString &need : record.metadata.needs)
        m_services.insert(need.toUtf8(), services.find(need.toUtf8(), m_id));
}

void *HostServices::serviceByIid(const char *iid)
{
    if (void *service = m_services.value(iid, nullptr))
        return service;
    log(2,
        u"It asked for the service %1 without listing it under \"Needs\": it gets none."_s.arg(
            QLatin1StringView(iid)));
    return nullptr;
}

void HostServices::log(int level, const QString &text)
{
    const std::lock_guard lock(m_mutex);
    if (m_log)
        m_log(std::clamp(level, 0, 3), m_id, text);
}

void HostServices::detach()
{
    const std::lock_guard lock(m_mutex);
    m_log = nullptr;
}

} // namespace tidekeeper::pluginhost
