// SPDX-License-Identifier: Apache-2.0
#include "decide/watchanswer.h"

#include "decide/refusals.h"
#include "decide/retryafter.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace watchrenewal {

namespace {

QJsonObject outcome(QLatin1StringView word, const QString &code, const QString &text, QJsonObject more = {})
{
    more.insert(u"outcome"_s, word);
    more.insert(u"code"_s, code);
    more.insert(u"text"_s, text);
    return more;
}

QJsonObject transient(const QString &code, const QString &text)
{
    return outcome("transient"_L1, code, text);
}

/// Numbers as Gmail writes them in REST (strings) or prints them in its guide (bare). Read from the text: a JSON
/// number beyond 2⁵³ would lose digits.
QRegularExpression numberOf(QLatin1StringView key)
{
    return QRegularExpression(u"\"%1\"\\s*:\\s*\"?(\\d{1,20})\"?\\s*[,}]"_s.arg(key));
}

QString numberIn(const QString &body, const QRegularExpression &pattern)
{
    return pattern.match(body).captured(1);
}

/// Never "renewed" without a time that lies ahead: a watch whose end is unknown must not pass for one that lasts.
QJsonObject renewed(const ApiAnswer &answer, qint64 nowMs)
{
    // Made once: making them costs more than all else that an answer does.
    static const QRegularExpression expirationNumber = numberOf("expiration"_L1);
    static const QRegularExpression historyIdNumber = numberOf("historyId"_L1);
    const bool isObject = QJsonDocument::fromJson(answer.body.toUtf8()).isObject();
    const qint64 expiresAt = isObject ? numberIn(answer.body, expirationNumber).toLongLong() : 0;
    if (expiresAt <= 0)
        return transient(u"malformed_answer"_s, u"Gmail accepted the watch but gave no usable expiration."_s);
    if (expiresAt <= nowMs)
        return transient(u"expired_answer"_s,
                         u"Gmail accepted the watch but says that it has lapsed already: is this machine's "
                         "clock right?"_s);
    QJsonObject data;
    bool isHistoryId = false;
    const QString historyId = numberIn(answer.body, historyIdNumber);
    historyId.toULongLong(&isHistoryId);
    if (isHistoryId)
        data.insert(u"history_id"_s, historyId);
    return outcome("renewed"_L1, u"renewed"_s, u"The watch was renewed."_s,
                   {{u"expires_at"_s, expiresAt}, {u"data"_s, data}});
}

bool isOfWholeProject(const ApiError &error)
{
    return error.quotaLimit.endsWith("PerProject"_L1) || error.reason == "dailyLimitExceeded"_L1;
}

QJsonObject refused(const Refusal &row, const ApiAnswer &answer, const ApiError &error, qint64 nowMs)
{
    const QString reason = error.reason.isEmpty() ? u"http_%1"_s.arg(answer.status) : error.reason;
    const QString code = row.code.isEmpty() ? reason : QString(row.code);
    const QString text = QString(row.text).replace("%1"_L1, error.message);
    QJsonObject more;
    if (!row.remedy.isEmpty())
        more.insert(u"remedy"_s, row.remedy);
    switch (row.meaning) {
    case Meaning::Transient:
        return transient(code, text);
    case Meaning::Rate:
        more.insert(u"until"_s, retryUntil(answer, error.message, nowMs));
        more.insert(u"scope"_s, isOfWholeProject(error) ? u"project"_s : u"account"_s);
        return outcome("rate"_L1, code, text, more);
    case Meaning::Unauthorized:
        return outcome("unauthorized"_L1, code, text);
    case Meaning::Project:
        more.insert(u"scope"_s, u"project"_s);
        return outcome("configuration"_L1, code, text, more);
    case Meaning::Parked:
    case Meaning::NeedsReauth:
        more.insert(u"reason"_s, code);
        more.insert(u"state"_s, row.meaning == Meaning::Parked ? u"parked"_s : u"needs_reauth"_s);
        return outcome("account"_L1, code, text, more);
    case Meaning::OwnedElsewhere:
        return outcome("owned_elsewhere"_L1, code, text);
    }
    Q_UNREACHABLE();
}

/// What is the same for watch and stop: everything but success.
QJsonObject failureOutcome(const ApiAnswer &answer, qint64 nowMs)
{
    if (!answer.failure.isEmpty())
        return transient(answer.failure, answer.failureText);
    const QString httpCode = u"http_%1"_s.arg(answer.status);
    if (answer.status >= 500 || answer.status == 408) // whatever the body says
        return transient(httpCode, u"Gmail answered %1."_s.arg(answer.status));
    const ApiError error = apiErrorFrom(answer.body);
    if (const Refusal *row = refusalFor(answer.status, error))
        return refused(*row, answer, error, nowMs);
    const QString text = error.message.isEmpty()
        ? u"Gmail answered %1."_s.arg(answer.status)
        : u"Gmail answered %1: %2"_s.arg(QString::number(answer.status), error.message);
    return transient(error.reason.isEmpty() ? httpCode : error.reason, text);
}

bool isSuccess(const ApiAnswer &answer)
{
    return answer.failure.isEmpty() && answer.status >= 200 && answer.status <= 299;
}

} // namespace

QJsonObject renewOutcome(const ApiAnswer &answer, qint64 nowMs)
{
    return isSuccess(answer) ? renewed(answer, nowMs) : failureOutcome(answer, nowMs);
}

QJsonObject removeOutcome(const ApiAnswer &answer, qint64 nowMs)
{
    return isSuccess(answer) ? outcome("gone"_L1, u"stopped"_s, u"The watch was stopped."_s)
                             : failureOutcome(answer, nowMs);
}

QJsonObject withOwnTopicFault(QJsonObject outcome)
{
    const QString code = outcome.value("code"_L1).toString();
    if (outcome.value("outcome"_L1) != "configuration"_L1 || !code.contains("topic"_L1))
        return outcome;
    outcome.remove(u"scope"_s);
    outcome.insert(u"outcome"_s, u"account"_s);
    outcome.insert(u"reason"_s, code);
    outcome.insert(u"state"_s, u"parked"_s);
    outcome.insert(u"remedy"_s,
                   outcome.value("remedy"_L1).toString()
                       + u" This account has a topic of its own; resume it afterwards."_s);
    return outcome;
}

bool isOwnedElsewhere(const ApiAnswer &answer)
{
    if (!answer.failure.isEmpty())
        return false;
    const Refusal *row = refusalFor(answer.status, apiErrorFrom(answer.body));
    return row && row->meaning == Meaning::OwnedElsewhere;
}

} // namespace watchrenewal
