// SPDX-License-Identifier: Apache-2.0
#include "http/queuescontroller.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

tl::unexpected<Error> refuse(const QString &field, const QString &text)
{
    return fail(u"invalid_request"_s, text, {{u"field"_s, field}});
}

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
    const int ways = int(!selection.filter.ids.isEmpty()) + int(!selection.filter.group.isEmpty()) + int(all);
    if (ways != 1)
        return refuse(u"ids"_s,
                      u"Choose dead letters by exactly one of \"ids\", \"group\" and \"all\": true."_s);
    return selection;
}

} // namespace

QueuesController::QueuesController(Router &router, QList<queue::JobQueue *> queues,
                                   redis::FunctionLibrary &library)
    : m_queues(std::move(queues)), m_library(library)
{
    const QString dead = u"/api/v1/queues/{queue}/dead"_s;
    router.add(Method::Get, u"/api/v1/queues"_s, Role::Viewer,
               [this](Request request) { return list(std::move(request)); });
    router.add(Method::Get, dead, Role::Viewer,
               [this](Request request) { return this->dead(std::move(request)); });
    const auto addMove = [&](const QString &verb, Move member) {
        router.add(Method::Post, dead + verb, Role::Operator,
                   [this, member](Request request) { return move(std::move(request), member); });
    };
    addMove(u"/requeue"_s, &queue::DeadLetters::requeue);
    addMove(u"/discard"_s, &queue::DeadLetters::discard);
    addMove(u"/restore"_s, &queue::DeadLetters::restore);
}

QCoro::Task<Response> QueuesController::list(Request)
{
    QJsonArray queues;
    for (queue::JobQueue *queue : m_queues) {
        const Result<QJsonObject> counts = co_await queue->counts();
        if (!counts)
            co_return Response::problem(counts.error());
        queues.append(*counts);
    }
    co_return Response::json({{u"queues"_s, queues}});
}

Result<queue::DeadLetters> QueuesController::lettersOf(const Request &request) const
{
    const QString name = request.parameters.value(u"queue"_s);
    for (const queue::JobQueue *queue : m_queues) {
        if (queue->name() == name)
            return queue::DeadLetters(name, m_library);
    }
    return fail(u"unknown_queue"_s, u"There is no queue \"%1\"."_s.arg(name));
}

QCoro::Task<Response> QueuesController::dead(Request request)
{
    Result<queue::DeadLetters> letters = lettersOf(request);
    if (!letters)
        co_return Response::problem(letters.error());
    queue::DeadFilter filter;
    filter.group = queryValue(request, u"group"_s);
    filter.cursor = queryValue(request, u"cursor"_s);
    if (const QString limit = queryValue(request, u"limit"_s); !limit.isEmpty())
        filter.limit = limit.toInt();
    const Result<QJsonObject> page = co_await letters->list(std::move(filter));
    co_return page ? Response::json(*page) : Response::problem(page.error());
}

QCoro::Task<Response> QueuesController::move(Request request, Move how)
{
    Result<queue::DeadLetters> letters = lettersOf(request);
    if (!letters)
        co_return Response::problem(letters.error());
    const Result<Selection> selection = selectionOf(request);
    if (!selection)
        co_return Response::problem(selection.error());
    const Result<QJsonObject> counts = co_await ((*letters).*how)(selection->filter, selection->dryRun);
    co_return counts ? Response::json(*counts) : Response::problem(counts.error());
}

} // namespace tidekeeper::http
