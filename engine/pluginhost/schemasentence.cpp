// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/schemasentence.h"

#include "core/nearestname.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QMap>
#include <QtCore/QStringList>

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

/// " from 1 to 500", " of at least 1", " of at most 1,000 characters", …
QString range(const QJsonObject &schema, const QString &least, const QString &most, const QString &unit)
{
    const bool low = schema.contains(least);
    const bool high = schema.contains(most);
    if (low && high)
        return u" from %1 to %2%3"_s.arg(asJson(schema.value(least)), asJson(schema.value(most)), unit);
    if (low)
        return u" of at least %1%2"_s.arg(asJson(schema.value(least)), unit);
    if (high)
        return u" of at most %1%2"_s.arg(asJson(schema.value(most)), unit);
    return {};
}

QString shown(const QJsonValue &value)
{
    switch (value.type()) {
    case QJsonValue::String:
        return value.toString().isEmpty() ? u"empty"_s : u"text"_s;
    case QJsonValue::Array:
        return u"a list"_s;
    case QJsonValue::Object:
        return u"a table"_s;
    default:
        return asJson(value);
    }
}

QString suggestion(const QJsonObject &schema, const QJsonValue &value)
{
    QStringList known;
    for (const QJsonValue &one : schema.value("enum"_L1).toArray())
        known.append(one.toString());
    return value.isString() ? core::didYouMean(value.toString(), known) : QString();
}

} // namespace

QString allowedBySchema(const QJsonObject &schema)
{
    QString text;
    if (schema.contains("enum"_L1))
        text = enumOf(schema.value("enum"_L1).toArray());
    else if (schema.value("format"_L1) == "duration"_L1)
        text = u"a duration such as \"15m\""_s;
    else if (schema.contains("type"_L1))
        text = typesOf(schema.value("type"_L1));
    else
        text = u"what its schema says"_s;
    text += range(schema, u"minimum"_s, u"maximum"_s,
                  schema.value("format"_L1) == "duration"_L1 ? u" ms"_s : u""_s);
    text += range(schema, u"minLength"_s, u"maxLength"_s, u" characters"_s);
    text += range(schema, u"minItems"_s, u"maxItems"_s, u" items"_s);
    if (schema.contains("pattern"_L1))
        text += u" that matches "_s + schema.value("pattern"_L1).toString();
    if (schema.contains("description"_L1))
        text += u" ("_s + schema.value("description"_L1).toString() + u")"_s;
    return text;
}

QString wrongValueSentence(const QString &key, const QJsonObject &schema, const QJsonValue &value)
{
    return u"\"%1\" must be %2, but it is %3."_s.arg(key, allowedBySchema(schema), shown(value))
        + suggestion(schema, value);
}

QString missingKeySentence(const QString &key, const QJsonObject &schema)
{
    return u"\"%1\" is missing; it must be %2."_s.arg(key, allowedBySchema(schema));
}

} // namespace tidekeeper::pluginhost
