// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/pluginmetadata.h"

#include "core/nearestname.h"
#include "pluginhost/jsonschema.h"
#include "pluginhost/metadataschema.h"

#include <QtCore/QJsonArray>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

QStringList strings(const QJsonValue &list)
{
    QStringList texts;
    for (const QJsonValue &item : list.toArray())
        texts.append(item.toString());
    return texts;
}

/// Converts versions and remembers the sentences about those that are none.
class VersionReader {
public:
    QVersionNumber read(const QString &key, const QString &text)
    {
        const Result<QVersionNumber> version = parseVersion(text);
        if (version)
            return *version;
        m_faults.append(u"\"%1\": %2"_s.arg(key, version.error().text));
        return {};
    }

    void fault(const QString &sentence) { m_faults.append(sentence); }
    const QStringList &faults() const { return m_faults; }

private:
    QStringList m_faults;
};

void readVersions(const QJsonObject &json, PluginMetadata &metadata, VersionReader &reader)
{
    const QString version = json.value("Version"_L1).toString();
    metadata.version = reader.read(u"Version"_s, version);
    metadata.compatVersion =
        reader.read(u"CompatVersion"_s, json.value("CompatVersion"_L1).toString(version));
    metadata.sdkVersion = reader.read(u"SdkVersion"_s, json.value("SdkVersion"_L1).toString());
    if (metadata.compatVersion > metadata.version)
        reader.fault(u"\"CompatVersion\" must not be newer than \"Version\"."_s);
    for (const QJsonValue &entry : json.value("Dependencies"_L1).toArray()) {
        const QString id = entry["Id"_L1].toString();
        metadata.dependencies.append(
            {id, reader.read(u"Dependencies."_s + id, entry["Version"_L1].toString())});
    }
}

} // namespace

Result<QVersionNumber> parseVersion(const QString &text)
{
    static const QRegularExpression pattern(uR"(^\d{1,9}(\.\d{1,9}){0,2}\z)"_s);
    if (!pattern.match(text).hasMatch()) {
        return fail(
            u"invalid_version"_s,
            u"This is no version; write up to three numbers with dots between them, such as 1.2.3."_s);
    }
    // QVersionNumber holds 1.2 to be older than 1.2.0.
    const QVersionNumber version = QVersionNumber::fromString(text);
    return QVersionNumber(version.majorVersion(), version.minorVersion(), version.microVersion());
}

Result<PluginMetadata> parseMetadata(const QJsonObject &json)
{
    const Result<QJsonObject> checked = checkAgainstSchema(metadataSchema(), json);
    if (!checked)
        return fail(u"bad_metadata"_s, checked.error().text, checked.error().details);

    PluginMetadata metadata;
    metadata.id = checked->value("Id"_L1).toString();
    metadata.name = checked->value("Name"_L1).toString();
    metadata.description = checked->value("Description"_L1).toString();
    metadata.license = checked->value("License"_L1).toString();
    metadata.provides = strings(checked->value("Provides"_L1));
    metadata.needs = strings(checked->value("Needs"_L1));
    metadata.configSchema = checked->value("ConfigSchema"_L1).toObject();
    metadata.enabledByDefault = checked->value("EnabledByDefault"_L1).toBool();

    VersionReader reader;
    readVersions(*checked, metadata, reader);
    if (!reader.faults().isEmpty())
        return fail(u"bad_metadata"_s, reader.faults().join(u' '));
    return metadata;
}

QStringList unknownMetadataKeys(const QJsonObject &json)
{
    const QStringList known = metadataSchema().value("properties"_L1).toObject().keys();
    QStringList sentences;
    for (const QString &key : json.keys()) {
        if (!known.contains(key))
            sentences.append(u"The metadata key \"%1\" is not known and has no effect."_s.arg(key)
                             + core::didYouMean(key, known));
    }
    return sentences;
}

} // namespace tidekeeper::pluginhost
