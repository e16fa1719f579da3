// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace tidekeeper::pluginhost {

/// "a whole number from 1 to 500 (how many …)": what a schema allows for one key, for people.
QString allowedBySchema(const QJsonObject &schema);

/// "\"batch\" must be a whole number, but it is text." Texts are not repeated: they may be secrets.
QString wrongValueSentence(const QString &key, const QJsonObject &schema, const QJsonValue &value);

/// "\"topic\" is missing; it must be text."
QString missingKeySentence(const QString &key, const QJsonObject &schema);

} // namespace tidekeeper::pluginhost
