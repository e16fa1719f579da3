// SPDX-License-Identifier: Apache-2.0
#include "log/log.h"

#include "log/redact.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonDocument>
#include <QtCore/QStringList>
#include <QtCore/QTimeZone>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>

using namespace Qt::StringLiterals;

namespace tidekeeper::log {

namespace {

constexpr std::array<QLatin1StringView, 4> names{"debug"_L1, "info"_L1, "warning"_L1, "error"_L1};
// sd-daemon(3): the severity that journald takes from the beginning of a line
constexpr std::array<QLatin1StringView, 4> journalPrefixes{"<7>"_L1, "<6>"_L1, "<4>"_L1, "<3>"_L1};

std::atomic<Format> currentFormat = Format::Text;

spdlog::level::level_enum spdlogLevel(Level level)
{
    constexpr std::array levels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                spdlog::level::err};
    return levels[size_t(level)];
}

QString instant()
{
    return QDateTime::currentDateTimeUtc().toString(Qt::ISODateWithMs);
}

QString jsonLine(Level level, const QString &component, const QString &text, QJsonObject fields)
{
    fields.insert("ts"_L1, instant());
    fields.insert("level"_L1, names[size_t(level)]);
    fields.insert("component"_L1, component);
    fields.insert("text"_L1, text);
    return QString::fromUtf8(QJsonDocument(fields).toJson(QJsonDocument::Compact));
}

QString textLine(Level level, const QString &component, const QString &text, const QJsonObject &fields)
{
    static const bool journal = qEnvironmentVariableIsSet("JOURNAL_STREAM");
    QString line = journal ? QString(journalPrefixes[size_t(level)]) : instant() + u' ';
    line += u"%1 %2: %3"_s.arg(names[size_t(level)], -7).arg(component, text);
    for (auto it = fields.begin(); it != fields.end(); ++it) {
        const QString value = it.value().isString()
            ? it.value().toString()
            : QString::fromUtf8(
                  QJsonDocument(QJsonObject{{u"v"_s, it.value()}}).toJson(QJsonDocument::Compact))
                  .mid(5)
                  .chopped(1);
        line += u"  %1=%2"_s.arg(it.key(), value);
    }
    return line.replace(u'\n', u' ');
}

void fromQt(QtMsgType type, const QMessageLogContext &context, const QString &message)
{
    const Level level = type == QtDebugMsg ? Level::Debug
        : type == QtInfoMsg                ? Level::Info
        : type == QtWarningMsg             ? Level::Warning
                                           : Level::Error;
    write(level, context.category ? QString::fromLatin1(context.category) : u"qt"_s, message);
}

} // namespace

void setUp(Level level, Format format)
{
    currentFormat = format;
    auto logger =
        std::make_shared<spdlog::logger>("tidekeeper", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%v");
    logger->flush_on(spdlog::level::debug);
    spdlog::set_default_logger(std::move(logger));
    setLevel(level);
    qInstallMessageHandler(fromQt);
}

void setLevel(Level level)
{
    spdlog::set_level(spdlogLevel(level));
}

Level levelFrom(const QString &name)
{
    for (size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name)
            return Level(i);
    }
    return Level::Info;
}

void write(Level level, const QString &component, const QString &text, const QJsonObject &fields)
{
    if (!spdlog::should_log(spdlogLevel(level)))
        return;
    const QString line = currentFormat == Format::Json ? jsonLine(level, component, text, fields)
                                                       : textLine(level, component, text, fields);
    spdlog::log(spdlogLevel(level), "{}", redact(line).toStdString());
}

} // namespace tidekeeper::log
