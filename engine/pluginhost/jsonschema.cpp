// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/jsonschema.h"

#include "core/cron.h"
#include "core/nearestname.h"
#include "pluginhost/schemasentence.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QStringList>

#include <rapidjson/document.h>
#include <rapidjson/schema.h>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

struct Faults {
    QStringList keys;
    QStringList sentences;

    void add(const QString &key, const QString &sentence)
    {
        keys.append(key);
        sentences.append(sentence);
    }

    /// Whether something is wrong at this key or inside it.
    bool concern(const QString &key) const
    {
        return std::any_of(keys.begin(), keys.end(), [&key](const QString &wrong) {
            return wrong == key || wrong.startsWith(key + u'.');
        });
    }
};

QString joined(const QString &path, const QString &key)
{
    return path.isEmpty() ? key : path + u'.' + key;
}

QJsonObject propertiesOf(const QJsonObject &schema)
{
    return schema.value("properties"_L1).toObject();
}

void insertUnlessEmpty(QJsonObject &object, const QString &key, const QJsonObject &value)
{
    if (!value.isEmpty())
        object.insert(key, value);
}

QJsonValue withDefaults(const QJsonObject &schema, const QJsonValue &value);

QJsonObject objectWithDefaults(const QJsonObject &schema, QJsonObject object)
{
    const QJsonObject properties = propertiesOf(schema);
    for (auto property = properties.begin(); property != properties.end(); ++property) {
        const QJsonObject inner = property.value().toObject();
        if (object.contains(property.key()))
            object.insert(property.key(), withDefaults(inner, object.value(property.key())));
        else if (inner.contains("default"_L1))
            object.insert(property.key(), inner.value("default"_L1));
        else if (!inner.contains("required"_L1))
            insertUnlessEmpty(object, property.key(), objectWithDefaults(inner, {}));
    }
    return object;
}

QJsonValue withDefaults(const QJsonObject &schema, const QJsonValue &value)
{
    if (value.isObject())
        return objectWithDefaults(schema, value.toObject());
    if (!value.isArray())
        return value;
    QJsonArray list;
    for (const QJsonValue &item : value.toArray())
        list.append(withDefaults(schema.value("items"_L1).toObject(), item));
    return list;
}

/// Whether "properties" lists every key there can be.
bool isClosed(const QJsonObject &schema)
{
    const QJsonValue additional = schema.value("additionalProperties"_L1);
    return (additional.isUndefined() || additional == QJsonValue(false))
        && !schema.contains("patternProperties"_L1);
}

void findUnknownKeys(const QJsonObject &schema, const QJsonValue &value, const QString &path, Faults &faults)
{
    if (value.isArray()) {
        const QJsonArray list = value.toArray();
        for (qsizetype i = 0; i < list.size(); ++i) {
            findUnknownKeys(schema.value("items"_L1).toObject(), list.at(i), joined(path, QString::number(i)),
                            faults);
        }
        return;
    }
    const bool isFreeTable = !path.isEmpty() && !schema.contains("properties"_L1)
        && schema.value("additionalProperties"_L1) != QJsonValue(false);
    if (!value.isObject() || isFreeTable)
        return;
    const QJsonObject properties = propertiesOf(schema);
    const QJsonObject object = value.toObject();
    for (auto member = object.begin(); member != object.end(); ++member) {
        const QString key = joined(path, member.key());
        if (properties.contains(member.key()))
            findUnknownKeys(properties.value(member.key()).toObject(), member.value(), key, faults);
        else if (isClosed(schema))
            faults.add(key,
                       u"\"%1\" is not a known key."_s.arg(key)
                           + core::didYouMean(member.key(), properties.keys()));
    }
}

void findMissingKeys(const QJsonObject &schema, const QJsonObject &object, const QString &path,
                     Faults &faults)
{
    for (const QJsonValue &required : schema.value("required"_L1).toArray()) {
        const QString name = required.toString();
        if (!object.contains(name)) {
            faults.add(joined(path, name),
                       missingKeySentence(joined(path, name), propertiesOf(schema).value(name).toObject()));
        }
    }
}

/// The value or schema that a JSON pointer leads to.
QJsonValue at(QJsonValue value, const QStringList &tokens)
{
    for (const QString &token : tokens)
        value = value.isArray() ? value.toArray().at(token.toInt()) : value.toObject().value(token);
    return value;
}

QStringList tokensOf(const rapidjson::Pointer &pointer)
{
    QStringList tokens;
    for (std::size_t i = 0; i < pointer.GetTokenCount(); ++i)
        tokens.append(QString::fromUtf8(pointer.GetTokens()[i].name, pointer.GetTokens()[i].length));
    return tokens;
}

rapidjson::Document parsed(const QJsonObject &object)
{
    const QByteArray text = QJsonDocument(object).toJson(QJsonDocument::Compact);
    rapidjson::Document document;
    document.Parse(text.constData(), static_cast<std::size_t>(text.size()));
    return document;
}

/// Adds what the validator objects to first in this object.
void findInvalidValue(const QJsonObject &schema, const QJsonObject &object, Faults &faults)
{
    const rapidjson::Document schemaJson = parsed(schema);
    const rapidjson::SchemaDocument schemaDocument(schemaJson);
    rapidjson::SchemaValidator validator(schemaDocument);
    if (parsed(object).Accept(validator))
        return;
    const QStringList path = tokensOf(validator.GetInvalidDocumentPointer());
    const QString key = path.join(u'.');
    const QString keyword = QString::fromUtf8(validator.GetInvalidSchemaKeyword());
    const QJsonObject inner = at(schema, tokensOf(validator.GetInvalidSchemaPointer())).toObject();
    const QJsonValue value = at(object, path);
    if (keyword == "required"_L1)
        findMissingKeys(inner, value.toObject(), key, faults);
    else if (path.isEmpty())
        faults.add(key, u"The keys together do not meet \"%1\" of the schema."_s.arg(keyword));
    else
        faults.add(key, wrongValueSentence(key, inner, value));
}

/// The validator knows no formats.
void findBadCron(const QJsonObject &schema, const QJsonValue &value, const QString &path, Faults &faults)
{
    const QJsonObject properties = propertiesOf(schema);
    const QJsonObject object = value.toObject();
    for (auto member = object.begin(); member != object.end(); ++member)
        findBadCron(properties.value(member.key()).toObject(), member.value(), joined(path, member.key()),
                    faults);
    const QJsonArray list = value.toArray();
    for (qsizetype i = 0; i < list.size(); ++i)
        findBadCron(schema.value("items"_L1).toObject(), list.at(i), joined(path, QString::number(i)),
                    faults);
    if (schema.value("format"_L1) != "cron"_L1 || value.toString().isEmpty())
        return;
    if (const auto cron = core::CronExpression::parse(value.toString()); !cron)
        faults.add(path, wrongCronSentence(path, schema, cron.error().text));
}

/// What a schema says of each key alone.
QJsonObject withoutRulesForTheWhole(QJsonObject schema)
{
    for (const auto rule : {"required"_L1, "anyOf"_L1, "allOf"_L1, "oneOf"_L1, "not"_L1, "dependencies"_L1,
                            "minProperties"_L1, "maxProperties"_L1})
        schema.remove(rule);
    return schema;
}

} // namespace

Result<QJsonObject> checkAgainstSchema(const QJsonObject &schema, const QJsonObject &value)
{
    Faults faults;
    findUnknownKeys(schema, value, {}, faults);
    findMissingKeys(schema, value, {}, faults);
    const QJsonObject complete = objectWithDefaults(schema, value);
    findBadCron(schema, complete, {}, faults);
    // The validator stops at its first objection; key by key, all of them are found at once.
    const QJsonObject rules = withoutRulesForTheWhole(schema);
    for (auto member = complete.begin(); member != complete.end(); ++member) {
        if (!faults.concern(member.key()))
            findInvalidValue(rules, {{member.key(), member.value()}}, faults);
    }
    if (faults.keys.isEmpty())
        findInvalidValue(schema, complete, faults);
    if (faults.keys.isEmpty())
        return complete;
    return fail(u"schema_violation"_s, faults.sentences.join(u' '),
                {{u"keys"_s, QJsonArray::fromStringList(faults.keys)}});
}

} // namespace tidekeeper::pluginhost
