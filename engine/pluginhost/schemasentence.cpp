// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/schemasentence.h"

#include "core/nearestname.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QMap>
#include <QtCore/QStringList>

#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

QString asJson(const QJsonValue &value)
{
    const QByteArray list = QJsonDocument(QJsonArray{value}).toJson(QJsonDocument::Compact);
    return QString::fromUtf8(list.mid(1, list.size() - 2));
}

QString typeName(const QString &type)
{
    static const QMap<QString, QString> names{
        {u"string"_s, u"text"_s},     {u"integer"_s, u"a whole number"_s},
        {u"number"_s, u"a number"_s}, {u"boolean"_s, u"true or false"_s},
        {u"array"_s, u"a list"_s},    {u"object"_s, u"a table"_s},
        {u"null"_s, u"null"_s},
    };
    return names.value(type, type);
}

QString typesOf(const QJsonValue &type)
{
    QStringList names;
    for (const QJsonValue &one : type.isArray() ? type.toArray() : QJsonArray{type})
        names.append(typeName(one.toString()));
    return names.join(u" or "_s);
}

QString enumOf(const QJsonArray &values)
{
    QStringList texts;
    for (const QJsonValue &value : values)
        texts.append(asJson(value));
    return u"one of "_s + texts.join(u", "_s);
}

bool isDuration(const QJsonObject &schema)
{
    return schema.value("format"_L1) == "duration"_L1;
}

/// As it would be written in the configuration: 5400000 is 90m.
QString durationText(qint64 ms)
{
    constexpr std::array<std::pair<qint64, QLatin1StringView>, 4> units{{
        {86'400'000, "d"_L1},
        {3'600'000, "h"_L1},
        {60'000, "m"_L1},
        {1'000, "s"_L1},
    }};
    for (const auto &[unit, name] : units) {
        if (ms != 0 && ms % unit == 0)
            return QString::number(ms / unit) + name;
    }
    return QString::number(ms) + "ms"_L1;
}

QString numberText(const QJsonObject &schema, const QJsonValue &number)
{
    if (isDuration(schema) && number.isDouble())
        return u'"' + durationText(number.toInteger()) + u'"';
    return asJson(number);
}

/// A duration that could be written here.
QString sampleDuration(const QJsonObject &schema)
{
    constexpr qint64 usualMs = 900'000;
    for (const auto key : {"default"_L1, "minimum"_L1}) {
        if (schema.value(key).toInteger() > 0)
            return numberText(schema, schema.value(key));
    }
    return numberText(schema, usualMs);
}

/// " from 1 to 500", " of at least 1", " of at most 1000 characters", …
QString range(const QJsonObject &schema, const QString &least, const QString &most, const QString &unit)
{
    const QString low = numberText(schema, schema.value(least));
    const QString high = numberText(schema, schema.value(most));
    if (schema.contains(least) && schema.contains(most))
        return u" from %1 to %2%3"_s.arg(low, high, unit);
    if (schema.contains(least))
        return u" of at least %1%2"_s.arg(low, unit);
    if (schema.contains(most))
        return u" of at most %1%2"_s.arg(high, unit);
    return {};
}

QString shown(const QJsonObject &schema, const QJsonValue &value)
{
    switch (value.type()) {
    case QJsonValue::String:
        if (value.toString().isEmpty())
            return u"empty"_s;
        return isDuration(schema) ? u"text of another form"_s : u"text"_s;
    case QJsonValue::Array:
        return u"a list"_s;
    case QJsonValue::Object:
        return u"a table"_s;
    default:
        return numberText(schema, value);
    }
}

QString suggestion(const QJsonObject &schema, const QJsonValue &value)
{
    QStringList known;
    for (const QJsonValue &one : schema.value("enum"_L1).toArray())
        known.append(one.toString());
    return value.isString() ? core::didYouMean(value.toString(), known) : QString();
}

/// "a whole number from 1 to 500": what a schema allows for one key.
QString allowed(const QJsonObject &schema)
{
    QString text;
    if (schema.contains("enum"_L1))
        text = enumOf(schema.value("enum"_L1).toArray());
    else if (isDuration(schema))
        text = u"a duration"_s;
    else if (schema.contains("type"_L1))
        text = typesOf(schema.value("type"_L1));
    else
        text = u"what its schema says"_s;
    text += range(schema, u"minimum"_s, u"maximum"_s, {});
    if (isDuration(schema))
        text += u", such as "_s + sampleDuration(schema);
    text += range(schema, u"minLength"_s, u"maxLength"_s, u" characters"_s);
    text += range(schema, u"minItems"_s, u"maxItems"_s, u" items"_s);
    if (schema.contains("pattern"_L1))
        text += u" that matches "_s + schema.value("pattern"_L1).toString();
    return text;
}

QString meaning(const QJsonObject &schema)
{
    const QString description = schema.value("description"_L1).toString();
    return description.isEmpty() ? QString() : u' ' + description;
}

} // namespace

QString wrongValueSentence(const QString &key, const QJsonObject &schema, const QJsonValue &value)
{
    return u"\"%1\" must be %2, but it is %3."_s.arg(key, allowed(schema), shown(schema, value))
        + suggestion(schema, value) + meaning(schema);
}

QString wrongCronSentence(const QString &key, const QJsonObject &schema, const QString &why)
{
    return u"\"%1\" must be a cron pattern. %2"_s.arg(key, why) + meaning(schema);
}

QString missingKeySentence(const QString &key, const QJsonObject &schema)
{
    return u"\"%1\" is missing; it must be %2."_s.arg(key, allowed(schema)) + meaning(schema);
}

} // namespace tidekeeper::pluginhost
