// SPDX-License-Identifier: Apache-2.0
#include "queue/jobhistory.h"

#include "queue/queuecall.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::queue {

namespace {

/// A type or a text that is not UTF-8 must not hide the entry.
QJsonArray arrayFrom(const QByteArray &entry)
{
    return QJsonDocument::fromJson(QString::fromUtf8(entry).toUtf8()).array();
}

/// Lua writes counters and times as text, and nothing for 0.
qint64 number(const QJsonValue &text)
{
    return text.isDouble() ? text.toInteger() : text.toString().toLongLong();
}

qint64 duration(qint64 startedAt, qint64 endedAt)
{
    return startedAt > 0 ? std::max<qint64>(endedAt - startedAt, 0) : 0;
}

/// [id, type, schedule, outcome, starts, attempts, deferrals, enqueued_at, started_at, ended_at, class, text]
QJsonObject jobFrom(const QByteArray &entry)
{
    const QJsonArray e = arrayFrom(entry);
    const qint64 startedAt = number(e[8]);
    const qint64 endedAt = number(e[9]);
    return {{u"id"_s, e[0]},
            {u"type"_s, e[1]},
            {u"schedule"_s, e[2]},
            {u"outcome"_s, e[3]},
            {u"starts"_s, number(e[4])},
            {u"attempts"_s, number(e[5])},
            {u"deferrals"_s, number(e[6])},
            {u"enqueued_at"_s, number(e[7])},
            {u"started_at"_s, startedAt},
            {u"ended_at"_s, endedAt},
            {u"duration_ms"_s, duration(startedAt, endedAt)},
            {u"error_class"_s, e[10]},
            {u"error_text"_s, e[11]}};
}

} // namespace

/// [nominal_at, result, outcome, job, fired_at, started_at, ended_at, attempts, deferrals, class, text]
QJsonObject runFrom(const QByteArray &entry)
{
    const QJsonArray e = arrayFrom(entry);
    if (e.isEmpty())
        return {};
    const qint64 nominalAt = number(e[0]);
    const qint64 startedAt = number(e[5]);
    const qint64 endedAt = number(e[6]);
    return {{u"nominal_at"_s, nominalAt},
            {u"trigger"_s, nominalAt > 0 ? u"schedule"_s : u"manual"_s},
            {u"result"_s, e[1]},
            {u"outcome"_s, e[2]},
            {u"job"_s, e[3]},
            {u"fired_at"_s, number(e[4])},
            {u"started_at"_s, startedAt},
            {u"ended_at"_s, endedAt},
            {u"duration_ms"_s, duration(startedAt, endedAt)},
            {u"attempts"_s, number(e[7])},
            {u"deferrals"_s, number(e[8])},
            {u"error_class"_s, e[9]},
            {u"error_text"_s, e[10]}};
}

JobHistory::JobHistory(QString queue, redis::FunctionLibrary &library)
    : m_prefix(queuePrefix(queue)), m_library(library)
{ }

QCoro::Task<Result<QJsonObject>> JobHistory::finished(FinishedFilter filter)
{
    if (!QStringList{QString(), u"done"_s, u"dead"_s}.contains(filter.outcome))
        co_return fail(u"invalid_request"_s, u"outcome must be done or dead."_s,
                       {{u"field"_s, u"outcome"_s}});
    QList<QByteArray> wanted{filter.type.toUtf8(), filter.outcome.toUtf8(), filter.errorClass.toUtf8(),
                             filter.id.toUtf8()};
    Result<QJsonObject> listed =
        co_await pages("tidekeeper_finished_v1", QList<QByteArray>(), std::move(wanted), filter.limit,
                       filter.cursor, u"jobs"_s, &jobFrom);
    co_return listed;
}

QCoro::Task<Result<QJsonObject>> JobHistory::runs(QString schedule, int limit, QString cursor)
{
    QList<QByteArray> name{schedule.toUtf8()};
    Result<QJsonObject> listed = co_await pages("tidekeeper_runs_v1", std::move(name), QList<QByteArray>(),
                                                limit, std::move(cursor), u"runs"_s, &runFrom);
    co_return listed;
}

/// Redis looks through a thousand entries with each call, so that a rare match holds up nobody.
QCoro::Task<Result<QJsonObject>> JobHistory::pages(QByteArray function, QList<QByteArray> before,
                                                   QList<QByteArray> after, int limit, QString cursor,
                                                   QString listName,
                                                   QJsonObject (*entryFrom)(const QByteArray &))
{
    static const QRegularExpression streamId(u"^(\\d{1,19}-\\d{1,19})?$"_s);
    if (!streamId.match(cursor).hasMatch())
        co_return fail(u"invalid_request"_s, u"The cursor is not one that a list returned."_s,
                       {{u"field"_s, u"cursor"_s}});
    if (limit < 1 || limit > 1'000)
        co_return fail(u"invalid_request"_s, u"limit must be from 1 to 1,000."_s, {{u"field"_s, u"limit"_s}});
    QJsonArray list;
    QByteArray from = cursor.toLatin1();
    do {
        QList<QByteArray> arguments = before;
        arguments << from << QByteArray::number(limit - list.size()) << after;
        const Result<redis::Value> reply =
            co_await callFunction(m_library, function, m_prefix, std::move(arguments));
        if (!reply)
            co_return fail(reply.error());
        if (reply->items.size() != 2)
            co_return fail(u"functions_refused"_s, u"Redis answered a history in an unknown form."_s);
        for (const redis::Value &entry : reply->items[0].items)
            list.append(entryFrom(entry.text));
        from = reply->items[1].text;
    } while (!from.isEmpty() && list.size() < limit);
    co_return QJsonObject{{listName, list}, {u"next_cursor"_s, QString::fromLatin1(from)}};
}

} // namespace tidekeeper::queue
