// SPDX-License-Identifier: Apache-2.0
#include "config/sectionreader.h"

#include "core/nearestname.h"

#include <QtCore/QJsonArray>

#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::config {

SectionReader::SectionReader(const Document &document, QList<Error> &faults, QStringList path)
    : m_document(document), m_faults(faults), m_path(std::move(path)), m_values(document.root)
{
    for (const QString &step : m_path)
        m_values = m_values.value(step).toObject();
}

QString SectionReader::text(const QString &key, const QString &fallback)
{
    const QJsonValue value = take(key);
    if (value.isUndefined())
        return fallback;
    if (!value.isString())
        fault(key, u"must be text in quotes."_s);
    return value.toString(fallback);
}

QString SectionReader::oneOf(const QString &key, const QStringList &allowed, const QString &fallback)
{
    return choice(key, allowed).toString(fallback);
}

QJsonValue SectionReader::choice(const QString &key, const QStringList &allowed)
{
    const QJsonValue value = take(key);
    if (value.isUndefined() || allowed.contains(value.toString()))
        return value;
    if (value.isString())
        fault(key, u"\"%1\" is not one of \"%2\"."_s.arg(value.toString(), allowed.join(u"\", \""_s)));
    else
        fault(key, u"must be text in quotes."_s);
    return QJsonValue::Undefined;
}

bool SectionReader::boolean(const QString &key, bool fallback)
{
    const QJsonValue value = take(key);
    if (!value.isUndefined() && !value.isBool())
        fault(key, u"must be true or false, without quotes."_s);
    return value.toBool(fallback);
}

QStringList SectionReader::texts(const QString &key)
{
    const QJsonValue value = take(key);
    QStringList result;
    bool right = value.isUndefined() || value.isArray();
    for (const QJsonValue &item : value.toArray()) {
        right = right && item.isString();
        result.append(item.toString());
    }
    if (!right)
        fault(key, u"must be a list of texts, such as [\"a\", \"b\"]."_s);
    return result;
}

QJsonValue SectionReader::wholeNumber(const QString &key, qint64 least, qint64 most)
{
    const QJsonValue value = take(key);
    if (value.isUndefined())
        return value;
    const double number = value.toDouble(std::nan(""));
    if (!value.isDouble() || number != std::floor(number) || number < double(least)
        || number > double(most)) {
        fault(key, u"must be a whole number from %1 to %2."_s.arg(least).arg(most));
        return QJsonValue::Undefined;
    }
    return value;
}

SectionReader SectionReader::section(const QString &key)
{
    const QJsonValue value = take(key);
    if (!value.isUndefined() && !value.isObject())
        fault(key, u"must be a table: write [%1]."_s.arg(pathOf(key)));
    return {m_document, m_faults, m_path + QStringList{key}};
}

QStringList SectionReader::sectionNames() const
{
    QStringList names;
    for (auto it = m_values.begin(); it != m_values.end(); ++it) {
        if (it.value().isObject())
            names.append(it.key());
    }
    return names;
}

QJsonObject SectionReader::raw()
{
    m_known += m_values.keys();
    return m_values;
}

void SectionReader::fault(const QString &key, const QString &text)
{
    const QString path = pathOf(key);
    const QString origin = m_document.origins.value(path);
    m_faults.append(Error::failure(u"invalid_value"_s,
                                   origin.isEmpty() ? u"%1 %2"_s.arg(path, text)
                                                    : u"%1 (%2) %3"_s.arg(path, origin, text),
                                   {{u"field"_s, path}}));
}

void SectionReader::refuseUnknown()
{
    for (auto it = m_values.begin(); it != m_values.end(); ++it) {
        if (!m_known.contains(it.key()))
            fault(it.key(), u"is not a key that exists here."_s + core::didYouMean(it.key(), m_known));
    }
}

QJsonValue SectionReader::take(const QString &key)
{
    m_known.append(key);
    return m_values.value(key);
}

QString SectionReader::pathOf(const QString &key) const
{
    return (m_path + QStringList{key}).join(u'.');
}

} // namespace tidekeeper::config
