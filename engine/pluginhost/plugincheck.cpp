// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/plugincheck.h"

#include "core/nearestname.h"
#include "pluginhost/interfacecheck.h"
#include "pluginhost/pluginfile.h"
#include "pluginhost/resolver.h"
#include "pluginhost/sdkversion.h"

#include <QtCore/QFileInfo>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

QStringList warningsOf(const PluginRecord &record)
{
    QStringList warnings;
    if (const Result<EmbeddedMetadata> embedded = readEmbedded(record.file))
        warnings += unknownMetadataKeys(embedded->json);
    for (const QString &need : record.metadata.needs) {
        if (!serviceIids().contains(need)) {
            warnings.append(u"This SDK has no service %1: the engine will refuse the plugin."_s.arg(need)
                            + core::didYouMean(need, serviceIids()));
        }
    }
    return warnings;
}

/// As on an engine that offers every service and has all the plugins that this one depends on.
void checkAlone(PluginRecord &record)
{
    std::vector<PluginRecord> alone{record};
    alone.front().enabled = true;
    alone.front().metadata.dependencies.clear();
    resolve(alone, {sdkVersion(), serviceIids() + record.metadata.needs});
    record.state = alone.front().state;
    record.failure = alone.front().failure;
}

void checkCode(PluginRecord &record)
{
    const Result<QObject *> root = loadRootObject(record.file);
    if (!root) {
        record.fail(FailureReason::LoadError, u"It cannot be loaded: "_s + root.error().text,
                    u"Install what it is linked with, or build it again on this system."_s);
        return;
    }
    record.state = PluginState::Loaded;
    checkInterfaces(record, **root);
}

} // namespace

Result<PluginCheck> checkPlugin(const QString &file)
{
    const QString path = QFileInfo(file).canonicalFilePath();
    if (path.isEmpty())
        return fail(u"not_found"_s, u"There is no file %1."_s.arg(file));
    std::optional<PluginRecord> record = readRecord(path);
    if (!record)
        return fail(u"not_a_plugin"_s, u"The file %1 is not a plugin of Tidekeeper."_s.arg(file));
    if (!record->failure)
        checkAlone(*record);
    if (!record->failure)
        checkCode(*record);
    return PluginCheck{*record, warningsOf(*record)};
}

} // namespace tidekeeper::pluginhost
