// SPDX-License-Identifier: Apache-2.0
#include "queue/deadletters.h"

#include "queue/queuecall.h"

#include <QtCore/QHash>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>

using namespace Qt::StringLiterals;

namespace tidekeeper::queue {

namespace {

constexpr int batch = 500;
constexpr qint64 lastCursor = 1'000'000'000; ///< more letters than a server can hold

QJsonArray historyFrom(const redis::Value &entries)
{
    QJsonArray history;
    for (const redis::Value &entry : entries.items)
        history.append(QJsonDocument::fromJson(entry.text).object());
    return history;
}

/// {id, {field, value, …}, {history entry, …}}
QJsonObject letterFrom(const redis::Value &job)
{
    QJsonObject letter{{u"id"_s, QString::fromUtf8(job.items[0].text)},
                       {u"history"_s, historyFrom(job.items[2])}};
    QHash<QByteArray, QByteArray> fields;
    for (qsizetype i = 0; i + 1 < job.items[1].items.size(); i += 2)
        fields.insert(job.items[1].items[i].text, job.items[1].items[i + 1].text);
    for (const char *name : {"type", "lane", "group", "error_class", "error_text"})
        letter.insert(QString::fromLatin1(name), QString::fromUtf8(fields.value(name)));
    for (const char *name : {"starts", "attempts", "deferrals", "enqueued_at", "died_at"})
        letter.insert(QString::fromLatin1(name), fields.value(name).toLongLong());
    letter.insert(u"dedupe"_s, QString::fromUtf8(fields.value("dedupe")));
    const QByteArray payload = fields.value("payload");
    if (const auto parsed = QJsonDocument::fromJson(payload); parsed.isObject())
        letter.insert(u"payload"_s, parsed.object());
    else
        letter.insert(u"payload_base64"_s, QString::fromLatin1(payload.toBase64()));
    return letter;
}

/// {{group, count, first died_at, last died_at}, …}
QJsonArray groupsFrom(const redis::Value &groups)
{
    QJsonArray list;
    for (const redis::Value &group : groups.items) {
        const auto &f = group.items;
        if (f.size() == 4)
            list.append(QJsonObject{{u"group"_s, QString::fromUtf8(f[0].text)},
                                    {u"count"_s, f[1].toInteger()},
                                    {u"first_at"_s, f[2].toInteger()},
                                    {u"last_at"_s, f[3].toInteger()}});
    }
    return list;
}

} // namespace

DeadLetters::DeadLetters(QString queue, redis::FunctionLibrary &library)
    : m_prefix(queuePrefix(queue)), m_library(library)
{ }

QCoro::Task<Result<redis::Value>> DeadLetters::page(QByteArray set, QString group, QByteArray cursor,
                                                    int limit, Wanted wanted)
{
    QList<QByteArray> arguments{std::move(set), group.toUtf8(), cursor.isEmpty() ? QByteArray("0") : cursor,
                                QByteArray::number(limit), wanted == Wanted::Ids ? "ids" : "all"};
    Result<redis::Value> reply =
        co_await callFunction(m_library, "tidekeeper_dead_v1", m_prefix, std::move(arguments));
    if (reply && reply->items.size() != 4)
        co_return fail(u"functions_refused"_s,
                       u"Redis answered a list of dead letters in an unknown form."_s);
    co_return reply;
}

QCoro::Task<Result<QJsonObject>> DeadLetters::list(DeadFilter filter)
{
    bool isNumber = true;
    const qint64 from = filter.cursor.isEmpty() ? 0 : filter.cursor.toLongLong(&isNumber);
    if (!isNumber || from < 0 || from > lastCursor)
        co_return fail(u"invalid_request"_s, u"The cursor is not one that a list returned."_s,
                       {{u"field"_s, u"cursor"_s}});
    if (filter.limit < 1 || filter.limit > 1000)
        co_return fail(u"invalid_request"_s, u"limit must be from 1 to 1,000."_s, {{u"field"_s, u"limit"_s}});
    if (filter.state != u"dead" && filter.state != u"discarded")
        co_return fail(u"invalid_request"_s, u"state must be dead or discarded."_s,
                       {{u"field"_s, u"state"_s}});
    QJsonArray letters;
    QByteArray cursor = filter.cursor.toLatin1();
    QJsonObject answer;
    do {
        const int wanted = filter.limit - static_cast<int>(letters.size());
        const Result<redis::Value> reply =
            co_await page(filter.state.toLatin1(), filter.group, cursor, wanted, Wanted::All);
        if (!reply)
            co_return fail(reply.error());
        for (const redis::Value &job : reply->items[0].items)
            letters.append(letterFrom(job));
        cursor = reply->items[1].text;
        answer.insert(u"total"_s, reply->items[2].toInteger());
        answer.insert(u"groups"_s, groupsFrom(reply->items[3]));
    } while (!cursor.isEmpty() && letters.size() < filter.limit);
    answer.insert(u"dead"_s, letters);
    answer.insert(u"next_cursor"_s, QString::fromLatin1(cursor));
    co_return answer;
}

QCoro::Task<Result<QJsonObject>> DeadLetters::requeue(DeadFilter filter, bool dryRun)
{
    return move("dead", "tidekeeper_dead_requeue_v1", {u"requeued"_s, u"already_live"_s}, std::move(filter),
                dryRun);
}

QCoro::Task<Result<QJsonObject>> DeadLetters::discard(DeadFilter filter, bool dryRun)
{
    return move("dead", "tidekeeper_dead_discard_v1", {u"discarded"_s}, std::move(filter), dryRun);
}

QCoro::Task<Result<QJsonObject>> DeadLetters::restore(DeadFilter filter, bool dryRun)
{
    return move("discarded", "tidekeeper_dead_restore_v1", {u"restored"_s, u"too_late"_s}, std::move(filter),
                dryRun);
}

/// The ids are collected before anything moves, so that pages do not shift underneath.
QCoro::Task<Result<QStringList>> DeadLetters::matching(QByteArray set, QString group)
{
    QStringList ids;
    QByteArray cursor;
    do {
        const Result<redis::Value> reply = co_await page(set, group, cursor, batch, Wanted::Ids);
        if (!reply)
            co_return fail(reply.error());
        for (const redis::Value &job : reply->items[0].items)
            ids.append(QString::fromUtf8(job.items[0].text));
        cursor = reply->items[1].text;
    } while (!cursor.isEmpty());
    co_return ids;
}

QCoro::Task<Result<QJsonObject>> DeadLetters::move(QByteArray set, QByteArray function, QStringList words,
                                                   DeadFilter filter, bool dryRun)
{
    QStringList ids = filter.ids;
    if (ids.isEmpty()) {
        Result<QStringList> all = co_await matching(set, filter.group);
        if (!all)
            co_return fail(all.error());
        ids = std::move(*all);
    }
    QHash<QString, int> counted;
    for (qsizetype from = 0; from < ids.size(); from += batch) {
        QList<QByteArray> arguments{dryRun ? "1" : "0"};
        for (const QString &id : ids.mid(from, batch))
            arguments.append(id.toUtf8());
        const Result<redis::Value> reply =
            co_await callFunction(m_library, function, m_prefix, std::move(arguments));
        if (!reply)
            co_return fail(reply.error());
        for (const redis::Value &word : reply->items)
            ++counted[QString::fromUtf8(word.text)];
    }
    QJsonObject counts{{u"matched"_s, ids.size() - counted.value(u"missing"_s)}};
    for (const QString &word : words)
        counts.insert(word, counted.value(word));
    co_return counts;
}

} // namespace tidekeeper::queue
