// SPDX-License-Identifier: Apache-2.0
#include "google/control/fields.h"

#include <QtCore/QJsonArray>

#include <cmath>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

QJsonValue Fields::any(const QString &name)
{
    m_read.insert(name);
    return m_object.value(name);
}

/// Undefined when the field is absent, null or of another type.
QJsonValue Fields::take(const QString &name, QJsonValue::Type type, const QString &expected)
{
    const QJsonValue value = any(name);
    if (value.type() == type)
        return value;
    if (!value.isUndefined() && !value.isNull())
        complain(u"The field %1 must be %2."_s.arg(name, expected));
    return QJsonValue::Undefined;
}

QString Fields::string(const QString &name, const QString &otherwise)
{
    return take(name, QJsonValue::String, u"a string"_s).toString(otherwise);
}

double Fields::number(const QString &name, double otherwise, double least, double most)
{
    const QJsonValue value = take(name, QJsonValue::Double, u"a number"_s);
    if (value.isUndefined())
        return otherwise;
    if (value.toDouble() < least || value.toDouble() > most)
        complain(u"The field %1 must be between %2 and %3."_s.arg(name).arg(least).arg(most));
    return value.toDouble();
}

qint64 Fields::integer(const QString &name, qint64 otherwise, qint64 least, qint64 most)
{
    const QJsonValue value = take(name, QJsonValue::Double, u"a whole number"_s);
    if (value.isUndefined())
        return otherwise;
    const double exact = value.toDouble();
    if (std::floor(exact) != exact || exact < double(least) || exact > double(most)) {
        complain(u"The field %1 must be a whole number between %2 and %3."_s.arg(name).arg(least).arg(most));
        return otherwise;
    }
    return value.toInteger(otherwise);
}

bool Fields::boolean(const QString &name, bool otherwise)
{
    return take(name, QJsonValue::Bool, u"true or false"_s).toBool(otherwise);
}

QStringList Fields::strings(const QString &name, const QStringList &otherwise)
{
    const QJsonValue value = take(name, QJsonValue::Array, u"a list of strings"_s);
    if (value.isUndefined())
        return otherwise;
    QStringList list;
    const QJsonArray array = value.toArray();
    for (const QJsonValue &item : array) {
        if (!item.isString())
            complain(u"The field %1 must be a list of strings."_s.arg(name));
        list << item.toString();
    }
    return list;
}

void Fields::complain(const QString &sentence)
{
    if (m_problem.isEmpty())
        m_problem = sentence;
}

QString Fields::problem() const
{
    if (!m_problem.isEmpty())
        return m_problem;
    const QStringList names = m_object.keys();
    for (const QString &name : names) {
        if (!m_read.contains(name))
            return u"There is no field %1 here."_s.arg(name);
    }
    return {};
}

} // namespace tidekeeper::googlesim
