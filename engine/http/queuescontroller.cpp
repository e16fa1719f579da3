// SPDX-License-Identifier: Apache-2.0
#include "http/queuescontroller.h"

#include "http/listquery.h"
#include "queue/jobhistory.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

tl::unexpected<Error> refuse(const QString &field, const QString &text)
{
    return fail(u"invalid_request"_s, text, {{u"field"_s, field}});
}

constexpr int usualPage = 100;

struct Selection {
    queue::DeadFilter filter;
    bool dryRun = false;
};

/// {"ids": […]} or {"group": …} or {"all": true}, and "dry_run".
Result<Selection> selectionOf(const Request &request)
{
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        return fail(body.error());
    Selection selection;
    bool all = false;
    for (auto field = body->begin(); field != body->end(); ++field) {
        if (field.key() == u"ids" && field->isArray()) {
            for (const QJsonValue &id : field->toArray())
                selection.filter.ids.append(id.toString());
        } else if (field.key() == u"group" && field->isString()) {
            selection.filter.group = field->toString();
        } else if (field.key() == u"all" && field->isBool()) {
            all = field->toBool();
        } else if (field.key() == u"dry_run" && field->isBool()) {
            selection.dryRun = field->toBool();
        } else {
            return refuse(
                field.key(),
                u"\"%1\" is unknown here or has the wrong type; use ids, group, all, dry_run."_s.arg(
                    field.key()));
        }
    }
    if (selection.filter.ids.contains(QString()))
        return refuse(u"ids"_s, u"ids must be strings that a list returned."_s);
    selection.filter.ids.removeDuplicates();
    const int ways = int(!selection.filter.ids.isEmpty()) + int(!selection.filter.group.isEmpty()) + int(all);
    if (ways != 1)
        return refuse(u"ids"_s,
                      u"Choose dead letters by exactly one of \"ids\", \"group\" and \"all\": true."_s);
    return selection;
}

/// What was chosen, for the audit; of many ids the first ones.
QJsonObject chosen(const queue::DeadFilter &filter)
{
    constexpr qsizetype most = 100;
    if (!filter.ids.isEmpty())
        return {{u"ids"_s, QJsonArray::fromStringList(filter.ids.mid(0, most))}};
    if (!filter.group.isEmpty())
        return {{u"group"_s, filter.group}};
    return {{u"all"_s, true}};
}

Response answer(const Result<QJsonObject> &result)
{
    return result ? Response::json(*result) : Response::problem(result.error());
}

} // namespace

QueuesController::QueuesController(Router &router, QList<queue::JobQueue *> queues,
                                   redis::FunctionLibrary &library, Audit &audit)
    : m_queues(std::move(queues)), m_library(library), m_audit(audit)
{
    const QString one = u"/api/v1/queues/{queue}"_s;
    router.add(Method::Get, u"/api/v1/queues"_s, Role::Viewer,
               [this](Request request) { return list(std::move(request)); });
    router.add(Method::Get, one + u"/jobs"_s, Role::Viewer,
               [this](Request request) { return jobs(std::move(request)); });
    router.add(Method::Get, one + u"/dead"_s, Role::Viewer,
               [this](Request request) { return dead(std::move(request)); });
    for (const Move &how :
         {Move{u"requeue"_s, &queue::DeadLetters::requeue}, Move{u"discard"_s, &queue::DeadLetters::discard},
          Move{u"restore"_s, &queue::DeadLetters::restore}})
        router.add(Method::Post, one + u"/dead/"_s + how.verb, Role::Operator,
                   [this, how](Request request) { return move(std::move(request), how); });
}

QCoro::Task<Response> QueuesController::list(Request request)
{
    if (const Result<> sound = checkParameters(request, {}); !sound)
        co_return Response::problem(sound.error());
    QJsonArray queues;
    for (queue::JobQueue *queue : m_queues) {
        const Result<QJsonObject> counts = co_await queue->counts();
        if (!counts)
            co_return Response::problem(counts.error());
        queues.append(*counts);
    }
    co_return Response::json({{u"queues"_s, queues}});
}

Result<QString> QueuesController::nameOf(const Request &request) const
{
    const QString name = request.parameters.value(u"queue"_s);
    QStringList known;
    for (const queue::JobQueue *queue : m_queues)
        known.append(queue->name());
    if (known.contains(name))
        return name;
    return fail(u"unknown_queue"_s,
                u"There is no queue \"%1\". There are: %2."_s.arg(name, known.join(u", "_s)));
}

QCoro::Task<Response> QueuesController::jobs(Request request)
{
    const Result<QString> name = nameOf(request);
    if (!name)
        co_return Response::problem(name.error());
    const QStringList known{u"type"_s, u"outcome"_s, u"class"_s, u"id"_s, u"limit"_s, u"cursor"_s};
    if (const Result<> sound = checkParameters(request, known); !sound)
        co_return Response::problem(sound.error());
    const Result<int> limit = limitOf(request, usualPage);
    if (!limit)
        co_return Response::problem(limit.error());
    queue::FinishedFilter filter;
    filter.type = queryValue(request, u"type"_s);
    filter.outcome = queryValue(request, u"outcome"_s);
    filter.errorClass = queryValue(request, u"class"_s);
    filter.id = queryValue(request, u"id"_s);
    filter.limit = *limit;
    filter.cursor = queryValue(request, u"cursor"_s);
    queue::JobHistory history(*name, m_library);
    const Result<QJsonObject> page = co_await history.finished(std::move(filter));
    co_return answer(page);
}

QCoro::Task<Response> QueuesController::dead(Request request)
{
    const Result<QString> name = nameOf(request);
    if (!name)
        co_return Response::problem(name.error());
    const QStringList known{u"group"_s, u"state"_s, u"limit"_s, u"cursor"_s};
    if (const Result<> sound = checkParameters(request, known); !sound)
        co_return Response::problem(sound.error());
    const Result<int> limit = limitOf(request, usualPage);
    if (!limit)
        co_return Response::problem(limit.error());
    queue::DeadFilter filter;
    filter.group = queryValue(request, u"group"_s);
    if (const QString state = queryValue(request, u"state"_s); !state.isEmpty())
        filter.state = state;
    filter.limit = *limit;
    filter.cursor = queryValue(request, u"cursor"_s);
    queue::DeadLetters letters(*name, m_library);
    const Result<QJsonObject> page = co_await letters.list(std::move(filter));
    co_return answer(page);
}

QCoro::Task<Response> QueuesController::move(Request request, Move how)
{
    const Result<QString> name = nameOf(request);
    if (!name)
        co_return Response::problem(name.error());
    const Result<Selection> selection = selectionOf(request);
    if (!selection)
        co_return Response::problem(selection.error());
    queue::DeadLetters letters(*name, m_library);
    Result<QJsonObject> counts = co_await (letters.*how.move)(selection->filter, selection->dryRun);
    if (counts && !selection->filter.ids.isEmpty())
        counts->insert("gone"_L1, selection->filter.ids.size() - counts->value("matched"_L1).toInteger());
    else if (counts)
        counts->insert("gone"_L1, 0);
    if (!selection->dryRun) {
        QJsonObject details = chosen(selection->filter);
        if (counts)
            details.insert("counts"_L1, *counts);
        else // some may have been moved
            details.insert("failed"_L1, counts.error().code);
        const QString action = u"dead."_s + how.verb;
        const QString target = u"queue."_s + *name;
        co_await m_audit.note(request.principal, action, target, details);
    }
    co_return answer(counts);
}

} // namespace tidekeeper::http
