// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace tidekeeper::log {

enum class Level : quint8 { Debug, Info, Warning, Error };
enum class Format : quint8 { Text, Json };

/// Sends everything, Qt's own messages included, to standard error: as text or as one JSON object a line; with the
/// severity prefix that journald reads when it is the journal. Call once at start; level can be changed later. [main]
void setUp(Level level, Format format);
void setLevel(Level level);
Level levelFrom(const QString &name); ///< "debug", "info", "warning", "error"; anything else is info

/// One line: component ("redis", "renewal", a plugin's id), a sentence, fields. Redacted here. [any]
void write(Level level, const QString &component, const QString &text, const QJsonObject &fields = {});

inline void debug(const QString &component, const QString &text, const QJsonObject &fields = {})
{
    write(Level::Debug, component, text, fields);
}
inline void info(const QString &component, const QString &text, const QJsonObject &fields = {})
{
    write(Level::Info, component, text, fields);
}
inline void warning(const QString &component, const QString &text, const QJsonObject &fields = {})
{
    write(Level::Warning, component, text, fields);
}
inline void error(const QString &component, const QString &text, const QJsonObject &fields = {})
{
    write(Level::Error, component, text, fields);
}

} // namespace tidekeeper::log
