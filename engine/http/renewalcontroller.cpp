// SPDX-License-Identifier: Apache-2.0
#include "http/renewalcontroller.h"

#include "core/planner.h"
#include "http/accountfields.h"

#include <numeric>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr qint64 leastSpreadMs = core::minuteMs;
constexpr qint64 mostSpreadMs = 7 * core::dayMs; // by then all are renewed anyway

/// 0 = now.
Result<qint64> spreadOf(const QJsonObject &body)
{
    const QJsonValue given = body["spread_ms"_L1];
    if (given.isUndefined())
        return 0;
    const qint64 spreadMs = given.toInteger();
    if (spreadMs < leastSpreadMs || spreadMs > mostSpreadMs)
        return badField(u"spread_ms"_s,
                        u"must be a number of milliseconds from 60000 (1 m) to 604800000 (7 d)."_s);
    return spreadMs;
}

Result<> isWideEnough(qint64 spreadMs, const core::BulkPlan &plan)
{
    if (spreadMs == 0 || spreadMs >= plan.leastSpreadMs)
        return {};
    const qint64 minutes = (plan.leastSpreadMs + core::minuteMs - 1) / core::minuteMs;
    return fail(u"invalid_request"_s,
                u"\"spread_ms\" is too short for so many: %1. Use %2 (%3 minutes) or more, or choose fewer "
                "accounts."_s.arg(plan.because)
                    .arg(minutes * core::minuteMs)
                    .arg(minutes),
                {{u"field"_s, u"spread_ms"_s}, {u"least_spread_ms"_s, minutes * core::minuteMs}});
}

bool isActive(const store::AccountRow &row)
{
    return row.account.state == core::AccountState::Active;
}

Result<bool> takeOverOf(const Request &request)
{
    const Result<QJsonObject> body = request.body.isEmpty() ? QJsonObject() : jsonObject(request);
    if (!body)
        return fail(body.error());
    if (Result<> known = checkFieldNames(*body, {u"take_over"_s}, {}); !known)
        return fail(known.error());
    const QJsonValue takeOver = (*body)["take_over"_L1];
    if (!takeOver.isUndefined() && !takeOver.isBool())
        return badField(u"take_over"_s, u"must be true or false."_s);
    return takeOver.toBool();
}

} // namespace

RenewalController::RenewalController(Router &router, renewal::RenewalEngine &engine,
                                     store::AccountStore &accounts, Audit &audit, const Clock &clock,
                                     qint64 windowMs)
    : m_engine(engine), m_accounts(accounts), m_audit(audit), m_clock(clock), m_windowMs(windowMs)
{
    const auto route = [&](Method method, const QString &path, Role role, auto member) {
        router.add(method, path, role,
                   [this, member](Request request) { return (this->*member)(std::move(request)); });
    };
    route(Method::Post, u"/api/v1/accounts/renew"_s, Role::Operator, &RenewalController::renewMany);
    route(Method::Post, u"/api/v1/accounts/{id}/renew"_s, Role::Operator, &RenewalController::renewOne);
    route(Method::Get, u"/api/v1/accounts/{id}/explain"_s, Role::Viewer, &RenewalController::explain);
}

QCoro::Task<Response> RenewalController::renewOne(Request request)
{
    const QString id = request.parameters.value(u"id"_s);
    const Result<bool> takeOver = takeOverOf(request);
    if (!takeOver)
        co_return Response::problem(takeOver.error());
    const Result<queue::EnqueueResult> result = co_await m_engine.renewNow(id, *takeOver);
    if (!result)
        co_return Response::problem(result.error());
    QJsonObject details{{u"take_over"_s, *takeOver}, {u"job"_s, result->job}};
    co_await m_audit.note(request.principal, u"account.renew"_s, id, details);
    co_return Response::json({{u"account"_s, id}, {u"job"_s, result->job}, {u"result"_s, result->result}},
                             202);
}

QCoro::Task<Response> RenewalController::renewMany(Request request)
{
    const Principal who = request.principal;
    Result<AccountSelection> selection = accountSelection(std::move(request), {u"spread_ms"_s});
    if (!selection)
        co_return Response::problem(selection.error());
    if (const Result<> allowed = requireState(*selection, {core::AccountState::Active}); !allowed)
        co_return Response::problem(allowed.error());
    const Result<qint64> spreadMs = spreadOf(selection->body);
    if (!spreadMs)
        co_return Response::problem(spreadMs.error());
    if (selection->dryRun || *spreadMs > 0) {
        std::optional<Response> ended = co_await plan(*selection, *spreadMs);
        if (ended)
            co_return std::move(*ended);
    }
    SelectedAccounts pages = pagesOf(*selection);
    SelectionResult result;
    Result<> done;
    while (done && !pages.atEnd()) {
        const Result<QList<store::AccountRow>> rows = co_await pages.next();
        done = rows ? Result<>() : fail(rows.error());
        if (rows)
            done = co_await renewPage(*rows, *spreadMs, &result);
    }
    for (const QString &id : pages.missing())
        result.skip(id, u"There is no such account."_s);
    const QString doneName = *spreadMs > 0 ? u"scheduled"_s : u"enqueued"_s;
    QJsonObject details = selection->forAudit();
    details.insert("matched"_L1, result.matched);
    details.insert(doneName, result.done);
    co_await m_audit.note(who, u"account.renew"_s, u"accounts"_s, details);
    // What was begun before the failure goes on; the same request again does the rest.
    co_return done ? Response::json(result.toJson(doneName, pages.cursor()), 202)
                   : Response::problem(done.error());
}

QCoro::Task<std::optional<Response>> RenewalController::plan(AccountSelection selection, qint64 spreadMs)
{
    const Result<QMap<QString, qint64>> counted = co_await count(selection);
    if (!counted)
        co_return Response::problem(counted.error());
    const core::BulkPlan plan = m_engine.planOf(*counted);
    if (const Result<> wide = isWideEnough(spreadMs, plan); !wide)
        co_return Response::problem(wide.error());
    if (!selection.dryRun)
        co_return std::nullopt;
    co_return Response::json({{u"matched"_s, std::accumulate(counted->begin(), counted->end(), qint64(0))},
                              {u"estimate_ms"_s, std::max(plan.estimateMs, spreadMs)},
                              {u"least_spread_ms"_s, plan.leastSpreadMs},
                              {u"dry_run"_s, true}});
}

SelectedAccounts RenewalController::pagesOf(const AccountSelection &selection) const
{
    return {m_accounts, selection, m_clock.nowMs(), m_windowMs};
}

QCoro::Task<Result<QMap<QString, qint64>>> RenewalController::count(AccountSelection selection)
{
    SelectedAccounts pages = pagesOf(selection);
    QMap<QString, qint64> counted;
    while (!pages.atEnd()) {
        const Result<QList<store::AccountRow>> rows = co_await pages.next();
        if (!rows)
            co_return fail(rows.error());
        for (const store::AccountRow &row : *rows) {
            if (isActive(row))
                ++counted[row.account.project];
        }
    }
    co_return counted;
}

QCoro::Task<Result<>> RenewalController::renewPage(QList<store::AccountRow> rows, qint64 spreadMs,
                                                   SelectionResult *result)
{
    result->matched += rows.size();
    for (const store::AccountRow &row : std::as_const(rows)) {
        if (!isActive(row))
            result->skip(
                row.account.id,
                u"It is %1, and only active accounts are renewed."_s.arg(toString(row.account.state)));
    }
    rows.removeIf([](const store::AccountRow &row) { return !isActive(row); });
    if (spreadMs > 0) {
        const Result<int> moved = co_await m_engine.pullForward(rows, spreadMs);
        if (!moved)
            co_return fail(moved.error());
        result->done += *moved; // the others are due sooner than that anyway
        co_return Result<>();
    }
    const Result<QStringList> begun = co_await m_engine.renewNow(rows);
    if (!begun)
        co_return fail(begun.error());
    result->done += begun->size();
    const QSet<QString> fresh(begun->begin(), begun->end());
    for (const store::AccountRow &row : std::as_const(rows)) {
        if (!fresh.contains(row.account.id))
            result->skip(row.account.id, u"Its renewal is under way already."_s);
    }
    co_return Result<>();
}

QCoro::Task<Response> RenewalController::explain(Request request)
{
    const Result<QJsonObject> explained = co_await m_engine.explain(request.parameters.value(u"id"_s));
    if (!explained)
        co_return Response::problem(explained.error());
    co_return Response::json(*explained);
}

} // namespace tidekeeper::http
