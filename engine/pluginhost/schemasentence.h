// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace tidekeeper::pluginhost {

// Sentences about one key, each followed by the key's description in the schema.

/// "\"batch\" must be a whole number, but it is text." Texts are not repeated: they may be secrets.
QString wrongValueSentence(const QString &key, const QJsonObject &schema, const QJsonValue &value);

/// "\"cron\" must be a cron pattern. Cron field \"minute\": …"
QString wrongCronSentence(const QString &key, const QJsonObject &schema, const QString &why);

/// "\"topic\" is missing; it must be text."
QString missingKeySentence(const QString &key, const QJsonObject &schema);

} // namespace tidekeeper::pluginhost
