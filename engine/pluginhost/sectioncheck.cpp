// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/sectioncheck.h"

#include "core/nearestname.h"
#include "pluginhost/pluginfile.h"
#include "pluginhost/resolver.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

QJsonObject fieldOf(const QString &id)
{
    return {{u"field"_s, u"plugins."_s + id}};
}

} // namespace

std::vector<PluginRecord> findPlugins(const QStringList &searchPath, const Sections &sections)
{
    std::vector<PluginRecord> records;
    for (const QString &file : libraryFiles(searchPath)) {
        if (std::optional<PluginRecord> record = readRecord(file))
            records.push_back(std::move(*record));
    }
    refuseDuplicates(records);
    for (PluginRecord &record : records) {
        if (record.state == PluginState::Found)
            applySection(record, sections.value(record.metadata.id));
    }
    return records;
}

QList<Error> unknownSections(const std::vector<PluginRecord> &records, const Sections &sections)
{
    QStringList ids;
    for (const PluginRecord &record : records)
        ids.append(record.metadata.id);
    QList<Error> faults;
    for (const QString &id : sections.keys()) {
        if (!ids.contains(id))
            faults.append({u"unknown_plugin"_s,
                           u"The section [plugins.%1] belongs to no plugin that was found."_s.arg(id)
                               + core::didYouMean(id, ids),
                           fieldOf(id)});
    }
    return faults;
}

QList<Error> checkSections(const QStringList &searchPath, const Sections &sections)
{
    const std::vector<PluginRecord> records = findPlugins(searchPath, sections);
    QList<Error> faults;
    for (const PluginRecord &record : records) {
        if (record.failure && record.failure->reason == FailureReason::BadConfiguration)
            faults.append(
                {toString(record.failure->reason), record.failure->text, fieldOf(record.metadata.id)});
    }
    return faults + unknownSections(records, sections);
}

} // namespace tidekeeper::pluginhost
