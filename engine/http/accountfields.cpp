// SPDX-License-Identifier: Apache-2.0
#include "http/accountfields.h"

#include "core/nearestname.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonObject>
#include <QtCore/QRegularExpression>
#include <QtCore/QUrl>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr qsizetype mostTokenBytes = 4096;
constexpr int mostLabels = 100;

// 9999-12-31: anything later is a mistake of units.
constexpr qint64 latestInstant = 253'402'300'799'999;

QString typeName(const QJsonValue &value)
{
    switch (value.type()) {
    case QJsonValue::Null:
        return u"null"_s;
    case QJsonValue::Bool:
        return u"true or false"_s;
    case QJsonValue::Double:
        return u"a number"_s;
    case QJsonValue::String:
        return u"a string"_s;
    case QJsonValue::Array:
        return u"an array"_s;
    case QJsonValue::Object:
        return u"an object"_s;
    case QJsonValue::Undefined:
        break;
    }
    return u"nothing"_s;
}

// A name that may be shown: a mistyped field, not a value that slipped into its place.
QString shown(const QString &name)
{
    static const QRegularExpression plain(u"^[A-Za-z0-9_-]{1,40}$"_s);
    return plain.match(name).hasMatch() ? u"\"%1\""_s.arg(name) : u"A field"_s;
}

} // namespace

tl::unexpected<Error> badField(const QString &field, const QString &text)
{
    return fail(u"invalid_request"_s, u"\"%1\" %2"_s.arg(field, text), {{u"field"_s, field}});
}

Result<> checkFieldNames(const QJsonObject &body, const QStringList &known, const QStringList &readOnly)
{
    for (auto it = body.begin(); it != body.end(); ++it) {
        const QString name = it.key();
        if (readOnly.contains(name))
            return badField(name, u"is read-only: leave it out."_s);
        if (known.contains(name))
            continue;
        const QString shownName = shown(name);
        const bool nameable = shownName.startsWith(u'"');
        return fail(u"invalid_request"_s,
                    shownName + u" is not known here."_s + core::didYouMean(name, known),
                    nameable ? QJsonObject{{u"field"_s, name}} : QJsonObject());
    }
    return {};
}

Result<QString> textField(const QString &field, const QJsonValue &value, qsizetype most, Null null)
{
    if (value.isNull() && null == Null::Empty)
        return QString();
    if (!value.isString())
        return badField(field, u"must be a string, not %1."_s.arg(typeName(value)));
    const QString text = value.toString();
    if (text.isEmpty() && null == Null::Refused)
        return badField(field, u"is empty."_s);
    if (text.toUtf8().size() > most)
        return badField(field, u"is longer than %1 bytes."_s.arg(most));
    const auto isControl = [](QChar c) { return c.category() == QChar::Other_Control; };
    if (std::any_of(text.begin(), text.end(), isControl))
        return badField(field, u"contains a control character, such as a line feed."_s);
    return text;
}

Result<QString> secretField(const QString &field, const QJsonValue &value)
{
    const Result<QString> text = textField(field, value, mostTokenBytes, Null::Refused);
    if (!text)
        return text;
    if (std::any_of(text->begin(), text->end(), [](QChar c) { return c.isSpace(); }))
        return badField(field, u"contains a space: was it copied whole?"_s);
    return text;
}

Result<qint64> instantField(const QString &field, const QJsonValue &value)
{
    if (value.isNull())
        return 0;
    const double number = value.toDouble(NAN);
    if (!value.isDouble() || std::floor(number) != number) {
        return badField(field,
                        u"must be a whole number of milliseconds since 1970 (UTC) or null, not %1."_s.arg(
                            value.isDouble() ? u"a fraction"_s : typeName(value)));
    }
    if (number > static_cast<double>(latestInstant))
        return badField(field, u"lies after the year 9999: give milliseconds since 1970 (UTC)."_s);
    return number <= 0 ? 0 : value.toInteger();
}

Result<QString> historyIdField(const QString &field, const QJsonValue &value)
{
    const Result<QString> text = textField(field, value, 64, Null::Empty);
    if (!text || text->isEmpty())
        return text;
    static const QRegularExpression digits(u"^[0-9]{1,20}$"_s);
    bool fits = false;
    text->toULongLong(&fits);
    if (!fits || !digits.match(*text).hasMatch())
        return badField(field, u"must be a string of digits, an unsigned 64 bit number."_s);
    return text;
}

Result<QJsonValue> topicField(const QString &field, const QJsonValue &value)
{
    const Result<QString> text = textField(field, value, 512, Null::Empty);
    if (!text)
        return fail(text.error());
    static const QRegularExpression name(u"^projects/[^/\\s]+/topics/[^/\\s]+$"_s);
    if (text->isEmpty())
        return QJsonValue(QJsonValue::Null);
    if (!name.match(*text).hasMatch())
        return badField(field, u"must be written \"projects/PROJECT/topics/TOPIC\"."_s);
    return QJsonValue(*text);
}

Result<QJsonValue> labelIdsField(const QString &field, const QJsonValue &value)
{
    if (!value.isArray() && !value.isString() && !value.isNull())
        return badField(field, u"must be an array of Gmail label ids, such as [\"INBOX\"], or null."_s);
    QJsonArray given = value.toArray();
    const QStringList words = value.toString().split(u',', Qt::SkipEmptyParts);
    for (const QString &word : words)
        given.append(word.trimmed());
    if (given.size() > mostLabels)
        return badField(field, u"has more than %1 labels."_s.arg(mostLabels));
    QJsonArray ids;
    for (const QJsonValue &id : std::as_const(given)) {
        const Result<QString> text = textField(field, id, 256, Null::Refused);
        if (!text)
            return fail(text.error());
        if (!ids.contains(*text))
            ids.append(*text);
    }
    return ids.isEmpty() ? QJsonValue(QJsonValue::Null) : QJsonValue(ids);
}

Result<QJsonValue> labelBehaviorField(const QString &field, const QJsonValue &value)
{
    const Result<QString> text = textField(field, value, 16, Null::Empty);
    if (!text)
        return fail(text.error());
    const QString behavior = text->toLower();
    if (behavior.isEmpty())
        return QJsonValue(QJsonValue::Null);
    if (behavior != "include"_L1 && behavior != "exclude"_L1)
        return badField(field, u"must be \"include\" or \"exclude\"."_s);
    return QJsonValue(behavior);
}

Result<QString> languageField(const QString &field, const QJsonValue &value)
{
    const Result<QString> text = textField(field, value, 35, Null::Empty);
    if (!text || text->isEmpty())
        return text;
    static const QRegularExpression tag(u"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"_s);
    if (!tag.match(*text).hasMatch())
        return badField(field, u"must be a language tag, such as \"ko\" or \"pt-BR\"."_s);
    return text;
}

Result<QString> tokenUrlField(const QString &field, const QJsonValue &value)
{
    const Result<QString> text = textField(field, value, 2048, Null::Refused);
    if (!text)
        return text;
    const QUrl url(*text, QUrl::StrictMode);
    const QString host = url.host();
    const bool local = host == "localhost"_L1 || host == "127.0.0.1"_L1 || host == "::1"_L1;
    const bool good = url.isValid() && !host.isEmpty() && url.userInfo().isEmpty()
        && (url.scheme() == "https"_L1 || (url.scheme() == "http"_L1 && local));
    if (!good)
        return badField(field,
                        u"must be an https:// address (http:// only to this machine), without a password."_s);
    return text;
}

} // namespace tidekeeper::http
