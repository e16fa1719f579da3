// SPDX-License-Identifier: Apache-2.0
#include "http/pluginscontroller.h"

#include "protocol/pluginview.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

protocol::PluginView viewOf(const pluginhost::PluginRecord &record)
{
    const pluginhost::PluginMetadata &metadata = record.metadata;
    protocol::PluginView view;
    view.id = metadata.id;
    view.name = metadata.name;
    view.version = metadata.version.toString();
    view.sdkVersion = metadata.sdkVersion.toString();
    view.state = toString(record.state);
    view.text = record.note;
    if (record.failure) {
        view.reason = toString(record.failure->reason);
        view.text = record.failure->text;
        view.remedy = record.failure->remedy;
    }
    view.provides = metadata.provides;
    view.needs = metadata.needs;
    for (const pluginhost::PluginDependency &dependency : metadata.dependencies)
        view.dependencies.append({dependency.id, dependency.version.toString()});
    view.file = record.file;
    view.description = metadata.description;
    view.license = metadata.license;
    view.enabled = record.enabled;
    view.lateAnswers = record.lateAnswers;
    return view;
}

} // namespace

PluginsController::PluginsController(Router &router, const pluginhost::PluginHost &host) : m_host(host)
{
    router.add(Method::Get, u"/api/v1/plugins"_s, Role::Viewer,
               [this](Request request) { return list(request); });
}

QCoro::Task<Response> PluginsController::list(Request)
{
    QList<protocol::PluginView> plugins;
    for (const pluginhost::PluginRecord &record : m_host.records())
        plugins.append(viewOf(record));
    co_return Response::json(protocol::toJson(plugins));
}

} // namespace tidekeeper::http
