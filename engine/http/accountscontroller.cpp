// SPDX-License-Identifier: Apache-2.0
#include "http/accountscontroller.h"

#include "http/accountimport.h"
#include "http/accountlistrequest.h"
#include "http/accountview.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

AccountsController::AccountsController(Router &router, store::AccountStore &accounts,
                                       const oauth::Sealing &sealing, const Clock &clock,
                                       AccountsOptions options, std::function<void()> changed)
    : m_accounts(accounts), m_reader(std::move(options.projects), sealing), m_clock(clock),
      m_windowMs(options.windowMs), m_pushLimits(options.pushLimits), m_changed(std::move(changed))
{
    const auto all = u"/api/v1/accounts"_s;
    const auto one = u"/api/v1/accounts/{id}"_s;
    const auto route = [&](Method method, const QString &path, Role role, auto member) {
        router.add(method, path, role,
                   [this, member](Request request) { return (this->*member)(std::move(request)); });
    };
    route(Method::Get, all, Role::Viewer, &AccountsController::list);
    route(Method::Post, all + u"/import"_s, Role::Operator, &AccountsController::importLines);
    route(Method::Get, one, Role::Viewer, &AccountsController::get);
    route(Method::Put, one, Role::Operator, &AccountsController::put);
    route(Method::Patch, one, Role::Operator, &AccountsController::patch);
}

Response AccountsController::shown(const store::AccountRow &row, int status) const
{
    return Response::json(protocol::toJson(accountView(row, m_clock.nowMs(), m_windowMs, m_pushLimits)),
                          status);
}

QCoro::Task<Response> AccountsController::list(Request request)
{
    const Result<store::AccountFilter> filter = accountFilter(request);
    if (!filter)
        co_return Response::problem(filter.error());
    const qint64 nowMs = m_clock.nowMs();
    const Result<store::AccountPage> page = co_await m_accounts.list(*filter, nowMs, m_windowMs);
    if (!page)
        co_return Response::problem(page.error());
    co_return Response::json(protocol::toJson(accountListView(*page, nowMs, m_windowMs, m_pushLimits)));
}

QCoro::Task<Response> AccountsController::get(Request request)
{
    const Result<store::AccountRow> row = co_await m_accounts.find(request.parameters[u"id"_s]);
    co_return row ? shown(*row, 200) : Response::problem(row.error());
}

QCoro::Task<Response> AccountsController::put(Request request)
{
    const Result<QString> id = AccountRequestReader::checkedId(request.parameters[u"id"_s]);
    if (!id)
        co_return Response::problem(id.error());
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<store::AccountChange> change = m_reader.read(*id, *body);
    if (!change)
        co_return Response::problem(change.error());
    const Result<store::PutResult> result = co_await m_accounts.put(*id, *change, m_clock.nowMs());
    if (!result)
        co_return Response::problem(result.error());
    if (result->changed)
        m_changed();
    co_return shown(result->row, result->created ? 201 : 200);
}

QCoro::Task<Response> AccountsController::patch(Request request)
{
    const QString id = request.parameters[u"id"_s];
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<store::AccountChange> change = m_reader.read(id, *body);
    if (!change)
        co_return Response::problem(change.error());
    const Result<store::AccountRow> row = co_await m_accounts.patch(id, *change, m_clock.nowMs());
    if (!row)
        co_return Response::problem(row.error());
    m_changed();
    co_return shown(*row, 200);
}

QCoro::Task<Response> AccountsController::importLines(Request request)
{
    Result<ImportLines> lines = readImport(request.body, m_reader);
    if (!lines)
        co_return Response::problem(lines.error());
    const bool dryRun = queryValue(request, u"dry_run"_s) == "true"_L1;
    const bool paused = queryValue(request, u"paused"_s) == "true"_L1;
    for (auto &row : lines->rows)
        row.second.pausedIfNew = paused;
    const auto stored = co_await m_accounts.putAll(lines->rows, m_clock.nowMs(), dryRun);
    if (!stored)
        co_return Response::problem(stored.error());
    const protocol::ImportView view = importView(*lines, *stored);
    if (!dryRun && view.created + view.updated > 0)
        m_changed();
    co_return Response::json(protocol::toJson(view));
}

} // namespace tidekeeper::http
