// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QHash>
#include <QtCore/QJsonObject>
#include <QtCore/QMap>

namespace tidekeeper::config {

/// A TOML document as JSON, with the place each key came from, for messages.
struct Document {
    QJsonObject root;
    QHash<QString, QString> origins; ///< "http.listen" → "line 3" or "environment TIDEKEEPER_HTTP__LISTEN"
};

/// Failures: config_syntax with line and column; invalid_value for what JSON cannot hold (dates).
Result<Document> readToml(const QByteArray &text, const QString &name);

/// Lays TIDEKEEPER_SECTION__KEY=value over the document: "__" parts the levels, case does not matter, "_" also
/// stands for "-". A value is read as TOML when it is TOML ("true", "12", "[1]"), as a plain string otherwise.
void applyEnvironment(Document &document, const QMap<QString, QString> &environment);

} // namespace tidekeeper::config
