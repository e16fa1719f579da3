// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/pluginrecord.h"

#include "pluginhost/pluginfile.h"

#include <tidekeeper/plugin.h>

#include <QtCore/QFileInfo>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

constexpr QLatin1StringView ourIidPrefix{"dev.tidekeeper."};
constexpr QLatin1StringView pluginIid{TIDEKEEPER_PLUGIN_IID};

/// What can still be shown of a plugin whose metadata cannot be used.
void showWhatIsThere(PluginRecord &record, const QJsonObject &json)
{
    record.metadata.id = json.value("Id"_L1).toString();
    if (record.metadata.id.isEmpty())
        record.metadata.id = QFileInfo(record.file).completeBaseName();
    record.metadata.name = json.value("Name"_L1).toString(record.metadata.id);
    record.metadata.description = json.value("Description"_L1).toString();
    record.metadata.license = json.value("License"_L1).toString();
}

} // namespace

QString toString(PluginState state)
{
    switch (state) {
    case PluginState::Found:
        return u"found"_s;
    case PluginState::Resolved:
        return u"resolved"_s;
    case PluginState::Loaded:
        return u"loaded"_s;
    case PluginState::Initialized:
        return u"initialized"_s;
    case PluginState::Running:
        return u"running"_s;
    case PluginState::Stopping:
        return u"stopping"_s;
    case PluginState::Stopped:
        return u"stopped"_s;
    case PluginState::Disabled:
        return u"disabled"_s;
    case PluginState::Failed:
        return u"failed"_s;
    }
    Q_UNREACHABLE();
}

QString toString(FailureReason reason)
{
    switch (reason) {
    case FailureReason::WrongIid:
        return u"wrong_iid"_s;
    case FailureReason::BadMetadata:
        return u"bad_metadata"_s;
    case FailureReason::DuplicateId:
        return u"duplicate_id"_s;
    case FailureReason::SdkTooNew:
        return u"sdk_too_new"_s;
    case FailureReason::QtIncompatible:
        return u"qt_incompatible"_s;
    case FailureReason::MissingDependency:
        return u"missing_dependency"_s;
    case FailureReason::DependencyFailed:
        return u"dependency_failed"_s;
    case FailureReason::Cycle:
        return u"cycle"_s;
    case FailureReason::LoadError:
        return u"load_error"_s;
    case FailureReason::MissingInterface:
        return u"missing_interface"_s;
    case FailureReason::BadConfiguration:
        return u"bad_configuration"_s;
    case FailureReason::InitializeFailed:
        return u"initialize_failed"_s;
    case FailureReason::StartFailed:
        return u"start_failed"_s;
    case FailureReason::StartTimeout:
        return u"start_timeout"_s;
    }
    Q_UNREACHABLE();
}

void PluginRecord::fail(FailureReason reason, QString text, QString remedy)
{
    if (failure)
        return;
    state = PluginState::Failed;
    failure = PluginFailure{reason, std::move(text), std::move(remedy)};
}

std::optional<PluginRecord> readRecord(const QString &file)
{
    PluginRecord record;
    record.file = file;
    const Result<EmbeddedMetadata> embedded = readEmbedded(file);
    if (!embedded && embedded.error().code == "not_a_plugin"_L1)
        return std::nullopt;
    if (!embedded) {
        showWhatIsThere(record, {});
        record.fail(FailureReason::LoadError, embedded.error().text,
                    u"Copy the file again from where it was built, or remove it from the folder."_s);
        return record;
    }
    if (!embedded->iid.startsWith(ourIidPrefix))
        return std::nullopt;

    record.qtVersion = embedded->qtVersion;
    if (embedded->iid != pluginIid) {
        showWhatIsThere(record, embedded->json);
        record.fail(
            FailureReason::WrongIid,
            u"It was built for the contract %1; this engine speaks %2."_s.arg(embedded->iid, pluginIid),
            u"Install a build of the plugin for this engine, or the engine that it was built for."_s);
        return record;
    }
    Result<PluginMetadata> metadata = parseMetadata(embedded->json);
    if (!metadata) {
        showWhatIsThere(record, embedded->json);
        record.fail(FailureReason::BadMetadata, u"Its metadata cannot be used: "_s + metadata.error().text,
                    u"Its author corrects the metadata and builds it again with tidekeeper_add_plugin."_s);
        return record;
    }
    record.metadata = std::move(*metadata);
    record.enabled = record.metadata.enabledByDefault;
    return record;
}

Result<PluginMetadata> readMetadata(const QString &file)
{
    const QString path = QFileInfo(file).canonicalFilePath();
    if (path.isEmpty())
        return tidekeeper::fail(u"not_found"_s, u"There is no file %1."_s.arg(file));
    const std::optional<PluginRecord> record = readRecord(path);
    if (!record)
        return tidekeeper::fail(u"not_a_plugin"_s, u"The file %1 is not a plugin of Tidekeeper."_s.arg(file));
    if (record->failure)
        return tidekeeper::fail(toString(record->failure->reason), record->failure->text);
    return record->metadata;
}

} // namespace tidekeeper::pluginhost
