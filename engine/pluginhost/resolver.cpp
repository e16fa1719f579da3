// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/resolver.h"

#include "core/nearestname.h"
#include "pluginhost/jsonschema.h"
#include "pluginhost/pluginfile.h"

#include <QtCore/QHash>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

void checkSdk(PluginRecord &record, const QVersionNumber &ours)
{
    const QVersionNumber &theirs = record.metadata.sdkVersion;
    if (theirs.majorVersion() == ours.majorVersion() && theirs.minorVersion() <= ours.minorVersion())
        return;
    record.fail(FailureReason::SdkTooNew,
                u"It was built with SDK %1; this engine takes SDK %2.0 to %3."_s.arg(theirs.toString())
                    .arg(ours.majorVersion())
                    .arg(ours.toString()),
                u"Install a newer engine, or build the plugin with this engine's SDK."_s);
}

void checkQt(PluginRecord &record)
{
    if (qtLoads(record.qtVersion))
        return;
    record.fail(FailureReason::QtIncompatible,
                u"It was built with Qt %1; this engine runs with Qt %2."_s.arg(record.qtVersion.toString(),
                                                                               QLatin1StringView(qVersion())),
                u"Build the plugin with the Qt of this system."_s);
}

void checkServices(PluginRecord &record, const QStringList &services)
{
    for (const QString &iid : record.metadata.needs) {
        if (services.contains(iid))
            continue;
        record.fail(FailureReason::MissingDependency,
                    u"It needs the service %1, which this engine does not offer."_s.arg(iid)
                        + core::didYouMean(iid, services),
                    u"Install an engine that offers it, or take it out of the plugin's \"Needs\"."_s);
        return;
    }
}

/// Depth first along the dependencies; the path is what a cycle is named by.
class DependencyWalk {
public:
    explicit DependencyWalk(std::vector<PluginRecord> &records)
        : m_records(records), m_depth(records.size(), 0)
    {
        for (std::size_t i = records.size(); i-- > 0;)
            m_byId.insert(records[i].metadata.id, i); // the first one of an id stays
    }

    void visit(std::size_t index)
    {
        PluginRecord &record = m_records[index];
        if (record.state != PluginState::Found)
            return;
        m_path.push_back(index);
        for (const PluginDependency &dependency : record.metadata.dependencies)
            follow(index, dependency);
        for (const PluginDependency &dependency : record.metadata.dependencies)
            require(record, dependency);
        if (record.state == PluginState::Found)
            record.state = PluginState::Resolved;
        m_path.pop_back();
    }

    Waves waves() const
    {
        Waves waves;
        for (std::size_t i = 0; i < m_records.size(); ++i) {
            if (m_records[i].state != PluginState::Resolved)
                continue;
            waves.resize(std::max(waves.size(), m_depth[i] + 1));
            waves[m_depth[i]].push_back(i);
        }
        return waves;
    }

private:
    void follow(std::size_t from, const PluginDependency &dependency)
    {
        const auto target = m_byId.constFind(dependency.id);
        if (target == m_byId.constEnd())
            return;
        const auto onPath = std::find(m_path.begin(), m_path.end(), *target);
        if (onPath != m_path.end()) {
            failCycle(onPath);
            return;
        }
        visit(*target);
        m_depth[from] = std::max(m_depth[from], m_depth[*target] + 1);
    }

    void failCycle(std::vector<std::size_t>::const_iterator first)
    {
        QStringList names;
        for (auto member = first; member != m_path.end(); ++member)
            names.append(m_records[*member].metadata.id);
        names.append(names.first());
        for (auto member = first; member != m_path.end(); ++member) {
            m_records[*member].fail(
                FailureReason::Cycle, u"These plugins need each other: %1."_s.arg(names.join(u" → "_s)),
                u"One of them has to do without the other; their authors decide which."_s);
        }
    }

    void require(PluginRecord &record, const PluginDependency &dependency)
    {
        const auto target = m_byId.constFind(dependency.id);
        if (target == m_byId.constEnd()) {
            record.fail(FailureReason::MissingDependency,
                        u"It needs the plugin \"%1\", which was not found."_s.arg(dependency.id)
                            + core::didYouMean(dependency.id, m_byId.keys()),
                        u"Install that plugin into a folder of the plugin path."_s);
            return;
        }
        const PluginRecord &other = m_records[*target];
        if (other.state == PluginState::Disabled) {
            record.fail(
                FailureReason::MissingDependency,
                u"It needs the plugin \"%1\", which is disabled."_s.arg(dependency.id),
                u"Write enabled = true in [plugins.%1], or disable this plugin too."_s.arg(dependency.id));
        } else if (other.failure) {
            failAfter(record, other);
        } else if (!provides(other.metadata, dependency.version)) {
            record.fail(FailureReason::MissingDependency,
                        u"It needs \"%1\" %2; the installed one serves %3 to %4."_s.arg(
                            dependency.id, dependency.version.toString(),
                            other.metadata.compatVersion.toString(), other.metadata.version.toString()),
                        u"Install a version of \"%1\" that serves both."_s.arg(dependency.id));
        }
    }

    std::vector<PluginRecord> &m_records;
    std::vector<std::size_t> m_depth;
    std::vector<std::size_t> m_path;
    QHash<QString, std::size_t> m_byId;
};

} // namespace

void refuseDuplicates(std::vector<PluginRecord> &records)
{
    QHash<QString, QString> fileOf;
    for (PluginRecord &record : records) {
        const auto first = fileOf.constFind(record.metadata.id);
        if (first == fileOf.constEnd()) {
            fileOf.insert(record.metadata.id, record.file);
            continue;
        }
        record.fail(FailureReason::DuplicateId,
                    u"The id \"%1\" is already taken by %2."_s.arg(record.metadata.id, *first),
                    u"Remove one of the two files."_s);
    }
}

void applySection(PluginRecord &record, QJsonObject section)
{
    const QString name = record.metadata.id;
    const QString remedy = u"Correct the section [plugins.%1] of the configuration and restart."_s.arg(name);
    const QJsonValue enabled = section.take("enabled"_L1);
    if (!enabled.isUndefined() && !enabled.isBool()) {
        record.fail(FailureReason::BadConfiguration,
                    u"[plugins.%1] is wrong: \"enabled\" must be true or false."_s.arg(name), remedy);
        return;
    }
    record.enabled = enabled.toBool(record.metadata.enabledByDefault);
    Result<QJsonObject> checked = checkAgainstSchema(record.metadata.configSchema, section);
    if (checked)
        record.configuration = std::move(*checked);
    else if (record.enabled)
        record.fail(FailureReason::BadConfiguration,
                    u"[plugins.%1] is wrong: %2"_s.arg(name, checked.error().text), remedy);
    else
        record.note = u"Before it is enabled, [plugins.%1] needs work: %2"_s.arg(name, checked.error().text);
}

void failAfter(PluginRecord &record, const PluginRecord &dependency)
{
    const QString id = dependency.metadata.id;
    record.fail(
        FailureReason::DependencyFailed,
        u"It needs the plugin \"%1\", which failed (%2)."_s.arg(id, toString(dependency.failure->reason)),
        u"Mend \"%1\" first; this plugin then follows by itself."_s.arg(id));
}

Waves resolve(std::vector<PluginRecord> &records, const HostOffer &offer)
{
    for (PluginRecord &record : records) {
        if (record.state != PluginState::Found)
            continue;
        if (!record.enabled) {
            record.state = PluginState::Disabled;
            continue;
        }
        checkSdk(record, offer.sdkVersion);
        checkQt(record);
        checkServices(record, offer.services);
    }
    DependencyWalk walk(records);
    for (std::size_t i = 0; i < records.size(); ++i)
        walk.visit(i);
    return walk.waves();
}

bool provides(const PluginMetadata &provider, const QVersionNumber &wanted)
{
    return provider.compatVersion <= wanted && wanted <= provider.version;
}

} // namespace tidekeeper::pluginhost
