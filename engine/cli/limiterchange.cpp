// SPDX-License-Identifier: Apache-2.0
#include "cli/limiterchange.h"

#include "core/account.h"

#include <QtCore/QJsonArray>
#include <QtCore/QUrl>

using namespace Qt::StringLiterals;

namespace tidekeeper::cli {

namespace {

/// true, off, 12, 0.5 or text; what it has to be is the engine's to say.
QJsonValue valueOf(const QString &text)
{
    if (text == "true"_L1 || text == "on"_L1)
        return true;
    if (text == "false"_L1 || text == "off"_L1)
        return false;
    bool isNumber = false;
    const double number = text.toDouble(&isNumber);
    return isNumber ? QJsonValue(number) : QJsonValue(text);
}

Result<QJsonObject> valuesOf(const LimiterChangeOptions &options)
{
    QJsonObject values;
    for (const std::string &setting : options.settings) {
        const QString text = QString::fromStdString(setting);
        const qsizetype equals = text.indexOf(u'=');
        if (equals < 1 || equals == text.size() - 1)
            return fail(u"usage"_s, u"\"%1\" is not KEY=VALUE."_s.arg(text));
        values[text.left(equals)] = valueOf(text.mid(equals + 1));
    }
    for (const std::string &key : options.reset)
        values[QString::fromStdString(key)] = QJsonValue::Null;
    if (values.isEmpty() && !options.resets)
        return fail(u"usage"_s, u"Say what to set: KEY=VALUE, or --reset."_s);
    return values;
}

/// null for everything that operators changed.
QJsonObject resetOfAll(const QJsonObject &limiter)
{
    QJsonObject reset;
    for (const QString &key : limiter["changed"_L1].toObject().keys())
        reset[key] = QJsonValue::Null;
    return reset;
}

QStringList consequencesOf(const QJsonObject &limiter, const QJsonObject &values)
{
    QStringList consequences;
    const QJsonObject sentences = limiter["consequences"_L1].toObject();
    for (auto value = values.begin(); value != values.end(); ++value) {
        if (!value->isBool() || *value == limiter[value.key()] || !sentences.contains(value.key()))
            continue;
        const QString word = value->toBool() ? u"true"_s : u"false"_s;
        consequences.append(u"%1=%2: %3"_s.arg(value.key(), word, sentences[value.key()][word].toString()));
    }
    return consequences;
}

QJsonObject ownLimits(const QJsonObject &limiter, const QString &project, const QString &account)
{
    for (const QJsonValue &own : limiter["overrides"_L1].toArray()) {
        if (own["project"_L1] != project || own["account"_L1].toString() != core::normalizedEmail(account))
            continue;
        QJsonObject limits;
        for (const QJsonValue &name : own["changed"_L1].toArray())
            limits[name.toString()] = own[name.toString()];
        return limits;
    }
    return {};
}

/// An account's limits are replaced whole, so that what it has already is sent again.
LimiterChange accountChange(const QJsonObject &limiter, const LimiterChangeOptions &options,
                            const QJsonObject &values)
{
    const QString project = options.project.empty() ? u"default"_s : QString::fromStdString(options.project);
    const QString account = QString::fromStdString(options.account);
    const bool keepsOthers = !options.resets || !options.reset.empty();
    QJsonObject limits = keepsOthers ? ownLimits(limiter, project, account) : QJsonObject();
    for (auto value = values.begin(); value != values.end(); ++value) {
        if (value->isNull())
            limits.remove(value.key());
        else
            limits[value.key()] = value.value();
    }
    LimiterChange change;
    change.method = limits.isEmpty() ? "DELETE" : "PUT";
    change.path = u"/overrides/"_s + QString::fromLatin1(QUrl::toPercentEncoding(account));
    change.query.addQueryItem(u"project"_s, QString::fromLatin1(QUrl::toPercentEncoding(project)));
    change.body = limits;
    return change;
}

QJsonObject over(QJsonObject below, const QJsonObject &above)
{
    for (auto value = above.begin(); value != above.end(); ++value)
        below[value.key()] = value.value();
    return below;
}

} // namespace

Result<LimiterChange> limiterChange(const QJsonObject &limiter, const LimiterChangeOptions &options)
{
    const Result<QJsonObject> values = valuesOf(options);
    if (!values)
        return fail(values.error());
    if (!options.account.empty())
        return accountChange(limiter, options, *values);

    LimiterChange change;
    change.method = "PATCH";
    const bool all = options.resets && options.reset.empty();
    if (options.project.empty()) {
        change.body = over(all ? resetOfAll(limiter) : QJsonObject(), *values);
        change.consequences = consequencesOf(limiter, change.body);
        return change;
    }
    if (all && !values->isEmpty())
        return fail(u"usage"_s,
                    u"Name the limits to reset, or reset all of the project and set them after."_s);
    const QString project = QString::fromStdString(options.project);
    change.body = {{u"projects"_s, QJsonObject{{project, all ? QJsonValue() : QJsonValue(*values)}}}};
    return change;
}

} // namespace tidekeeper::cli
