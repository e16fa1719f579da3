// SPDX-License-Identifier: Apache-2.0
#include "http/accountstatescontroller.h"

#include "http/accountview.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

using core::AccountState;

namespace {

QString actionOf(AccountState state)
{
    return state == AccountState::Paused ? u"account.pause"_s
        : state == AccountState::Active  ? u"account.resume"_s
                                         : u"account.remove"_s;
}

/// Whom a filter means that names no state comes first.
QList<AccountState> mayComeFrom(AccountState state)
{
    if (state == AccountState::Paused)
        return {AccountState::Active};
    return {AccountState::Paused, AccountState::Parked, AccountState::NeedsReauth};
}

Response dryRun(qint64 matched)
{
    return Response::json({{u"matched"_s, matched}, {u"dry_run"_s, true}});
}

} // namespace

AccountStatesController::AccountStatesController(Router &router, store::AccountStore &accounts, Audit &audit,
                                                 const Clock &clock, qint64 windowMs,
                                                 std::function<void()> changed)
    : m_accounts(accounts), m_audit(audit), m_clock(clock), m_windowMs(windowMs),
      m_changed(std::move(changed))
{
    const auto all = u"/api/v1/accounts"_s;
    const auto one = u"/api/v1/accounts/{id}"_s;
    const auto becomes = [&](Method method, const QString &path, AccountState state, int status) {
        router.add(method, path, Role::Operator, [this, state, status](Request request) {
            return setOne(std::move(request), state, status);
        });
    };
    becomes(Method::Post, one + u"/pause"_s, AccountState::Paused, 200);
    becomes(Method::Post, one + u"/resume"_s, AccountState::Active, 200);
    // Accepted: the watch is stopped and the account forgotten by the renewal, which may have to wait for Google.
    becomes(Method::Delete, one, AccountState::Leaving, 202);
    const auto allBecome = [&](const QString &verb, AccountState state) {
        router.add(Method::Post, all + verb, Role::Operator,
                   [this, state](Request request) { return setMany(std::move(request), state); });
    };
    allBecome(u"/pause"_s, AccountState::Paused);
    allBecome(u"/resume"_s, AccountState::Active);
}

QCoro::Task<Response> AccountStatesController::setOne(Request request, AccountState state, int status)
{
    store::AccountChange change;
    change.state = state;
    const QString id = request.parameters[u"id"_s];
    const Result<store::AccountRow> row = co_await m_accounts.patch(id, change, m_clock.nowMs());
    if (!row)
        co_return Response::problem(row.error());
    QJsonObject details;
    co_await m_audit.note(request.principal, actionOf(state), id, details);
    m_changed();
    co_return Response::json(protocol::toJson(accountView(*row, m_clock.nowMs(), m_windowMs)), status);
}

QCoro::Task<Response> AccountStatesController::setMany(Request request, AccountState state)
{
    const Principal who = request.principal;
    Result<AccountSelection> selection = accountSelection(std::move(request), {});
    if (!selection)
        co_return Response::problem(selection.error());
    if (const Result<> allowed = requireState(*selection, mayComeFrom(state)); !allowed)
        co_return Response::problem(allowed.error());
    SelectedAccounts pages(m_accounts, *selection, m_clock.nowMs(), m_windowMs);
    if (selection->dryRun && selection->isPlain()) {
        const Result<qint64> total = co_await pages.total();
        co_return total ? dryRun(*total) : Response::problem(total.error());
    }
    SelectionResult result;
    Result<> done;
    while (done && !pages.atEnd()) {
        const Result<QList<store::AccountRow>> rows = co_await pages.next();
        done = rows ? Result<>() : fail(rows.error());
        if (rows)
            done = co_await setPage(*rows, state, selection->dryRun, &result);
    }
    for (const QString &id : pages.missing())
        result.skip(id, u"There is no such account."_s);
    QJsonObject answer = result.toJson(u"changed"_s, pages.cursor());
    if (selection->dryRun && done) {
        answer.insert("dry_run"_L1, true);
        co_return Response::json(answer);
    }
    if (result.done > 0)
        m_changed();
    QJsonObject details = selection->forAudit();
    details.insert("matched"_L1, result.matched);
    details.insert("changed"_L1, result.done);
    co_await m_audit.note(who, actionOf(state), u"accounts"_s, details);
    // What was changed before the failure stays; the same request again does the rest.
    co_return done ? Response::json(answer) : Response::problem(done.error());
}

QCoro::Task<Result<>> AccountStatesController::setPage(QList<store::AccountRow> rows, AccountState state,
                                                       bool dryRun, SelectionResult *result)
{
    store::AccountChange change;
    change.state = state;
    const qint64 nowMs = m_clock.nowMs();
    QStringList ids;
    for (const store::AccountRow &row : std::as_const(rows)) {
        ++result->matched;
        const Result<store::Changed> possible = store::patched(row, change, nowMs);
        if (!possible)
            result->skip(row.account.id, possible.error().text);
        else if (possible->account)
            ids.append(row.account.id);
    }
    if (dryRun || ids.isEmpty())
        co_return Result<>();
    const Result<int> changed = co_await m_accounts.patchAll(ids, change, nowMs);
    if (!changed)
        co_return fail(changed.error());
    result->done += *changed;
    co_return Result<>();
}

} // namespace tidekeeper::http
