// SPDX-License-Identifier: Apache-2.0
#include "protocol/pluginview.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::protocol {

namespace {

QStringList stringsFrom(const QJsonValue &list)
{
    QStringList texts;
    for (const QJsonValue &text : list.toArray())
        texts.append(text.toString());
    return texts;
}

QJsonObject toJson(const PluginView &plugin)
{
    QJsonArray dependencies;
    for (const PluginDependencyView &dependency : plugin.dependencies)
        dependencies.append(QJsonObject{{u"id"_s, dependency.id}, {u"version"_s, dependency.version}});
    return {{u"id"_s, plugin.id},
            {u"name"_s, plugin.name},
            {u"version"_s, plugin.version},
            {u"sdk_version"_s, plugin.sdkVersion},
            {u"state"_s, plugin.state},
            {u"reason"_s, plugin.reason},
            {u"text"_s, plugin.text},
            {u"remedy"_s, plugin.remedy},
            {u"provides"_s, QJsonArray::fromStringList(plugin.provides)},
            {u"needs"_s, QJsonArray::fromStringList(plugin.needs)},
            {u"dependencies"_s, dependencies},
            {u"file"_s, plugin.file},
            {u"description"_s, plugin.description},
            {u"license"_s, plugin.license},
            {u"enabled"_s, plugin.enabled},
            {u"late_answers"_s, plugin.lateAnswers}};
}

PluginView pluginFrom(const QJsonObject &json)
{
    PluginView plugin;
    plugin.id = json[u"id"_s].toString();
    plugin.name = json[u"name"_s].toString();
    plugin.version = json[u"version"_s].toString();
    plugin.sdkVersion = json[u"sdk_version"_s].toString();
    plugin.state = json[u"state"_s].toString();
    plugin.reason = json[u"reason"_s].toString();
    plugin.text = json[u"text"_s].toString();
    plugin.remedy = json[u"remedy"_s].toString();
    plugin.provides = stringsFrom(json[u"provides"_s]);
    plugin.needs = stringsFrom(json[u"needs"_s]);
    for (const QJsonValue &dependency : json[u"dependencies"_s].toArray())
        plugin.dependencies.append({dependency[u"id"_s].toString(), dependency[u"version"_s].toString()});
    plugin.file = json[u"file"_s].toString();
    plugin.description = json[u"description"_s].toString();
    plugin.license = json[u"license"_s].toString();
    plugin.enabled = json[u"enabled"_s].toBool();
    plugin.lateAnswers = json[u"late_answers"_s].toInteger();
    return plugin;
}

} // namespace

QJsonObject toJson(const QList<PluginView> &plugins)
{
    QJsonArray list;
    for (const PluginView &plugin : plugins)
        list.append(toJson(plugin));
    return {{u"plugins"_s, list}};
}

QList<PluginView> pluginsFrom(const QJsonObject &json)
{
    QList<PluginView> plugins;
    for (const QJsonValue &plugin : json[u"plugins"_s].toArray())
        plugins.append(pluginFrom(plugin.toObject()));
    return plugins;
}

} // namespace tidekeeper::protocol
