// SPDX-License-Identifier: Apache-2.0
#include "http/renewalcontroller.h"

#include "http/accountfields.h"
#include "http/accountlistrequest.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr int pageSize = 500;

struct Selection {
    store::AccountFilter filter;
    bool dryRun = false;
};

/// The filter of the body, read by the same rules as the query of GET /accounts.
Result<Selection> selectionOf(Request request)
{
    const Result<QJsonObject> body = request.body.isEmpty() ? QJsonObject() : jsonObject(request);
    if (!body)
        return fail(body.error());
    if (Result<> known = checkFieldNames(*body, {u"filter"_s, u"dry_run"_s}, {}); !known)
        return fail(known.error());
    const QJsonValue dryRun = body->value("dry_run"_L1);
    if (!dryRun.isUndefined() && !dryRun.isBool())
        return badField(u"dry_run"_s, u"must be true or false."_s);
    const QJsonValue given = body->value("filter"_L1);
    if (!given.isUndefined() && !given.isObject())
        return badField(u"filter"_s, u"must be an object such as {\"band\": \"late\"}."_s);

    const QJsonObject filter = given.toObject();
    for (auto it = filter.begin(); it != filter.end(); ++it)
        request.query.addQueryItem(
            it.key(), QString::fromLatin1(QUrl::toPercentEncoding(it.value().toVariant().toString())));
    Selection selection{{}, dryRun.toBool()};
    Result<store::AccountFilter> parsed = accountFilter(request);
    if (!parsed)
        return fail(parsed.error());
    selection.filter = *parsed;
    const QString active = toString(core::AccountState::Active);
    if (!selection.filter.state.isEmpty() && selection.filter.state != active)
        return badField(u"state"_s, u"can only be \"active\": other accounts are not renewed."_s);
    selection.filter.state = active;
    return selection;
}

} // namespace

RenewalController::RenewalController(Router &router, renewal::RenewalEngine &engine,
                                     store::AccountStore &accounts, const Clock &clock, qint64 windowMs)
    : m_engine(engine), m_accounts(accounts), m_clock(clock), m_windowMs(windowMs)
{
    const auto route = [&](Method method, const QString &path, Role role, auto member) {
        router.add(method, path, role,
                   [this, member](Request request) { return (this->*member)(std::move(request)); });
    };
    route(Method::Post, u"/api/v1/accounts/renew"_s, Role::Operator, &RenewalController::renewMatching);
    route(Method::Post, u"/api/v1/accounts/{id}/renew"_s, Role::Operator, &RenewalController::renewOne);
    route(Method::Get, u"/api/v1/accounts/{id}/explain"_s, Role::Viewer, &RenewalController::explain);
}

QCoro::Task<Response> RenewalController::renewOne(Request request)
{
    const QString id = request.parameters.value(u"id"_s);
    const Result<queue::EnqueueResult> result = co_await m_engine.renewNow(id);
    if (!result)
        co_return Response::problem(result.error());
    co_return Response::json({{u"account"_s, id}, {u"job"_s, result->job}, {u"result"_s, result->result}},
                             202);
}

QCoro::Task<Response> RenewalController::renewMatching(Request request)
{
    Result<Selection> selection = selectionOf(std::move(request));
    if (!selection)
        co_return Response::problem(selection.error());
    store::AccountFilter filter = selection->filter;
    filter.limit = selection->dryRun ? 1 : pageSize;
    qint64 matched = 0;
    int enqueued = 0;
    do {
        const Result<store::AccountPage> page = co_await m_accounts.list(filter, m_clock.nowMs(), m_windowMs);
        if (!page)
            co_return Response::problem(page.error());
        if (selection->dryRun)
            co_return Response::json({{u"matched"_s, page->total}, {u"dry_run"_s, true}});
        const Result<int> added = co_await m_engine.renewNow(page->rows);
        if (!added)
            co_return Response::problem(added.error());
        matched += page->rows.size();
        enqueued += *added;
        filter.cursor = page->nextCursor;
    } while (!filter.cursor.isEmpty());
    co_return Response::json({{u"matched"_s, matched}, {u"enqueued"_s, enqueued}}, 202);
}

QCoro::Task<Response> RenewalController::explain(Request request)
{
    const Result<QJsonObject> explained = co_await m_engine.explain(request.parameters.value(u"id"_s));
    if (!explained)
        co_return Response::problem(explained.error());
    co_return Response::json(*explained);
}

} // namespace tidekeeper::http
