// SPDX-License-Identifier: Apache-2.0
#include "http/accountselection.h"

#include "core/planner.h"
#include "http/accountfields.h"
#include "http/accountlistrequest.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr int pageSize = 500;
constexpr qsizetype mostNamed = 100; // in answers and in the audit
constexpr qint64 mostInOneRequest = 1'000'000;

const QStringList fields{u"ids"_s, u"filter"_s, u"share"_s, u"dry_run"_s, u"limit"_s, u"cursor"_s};
const QStringList filterFields{u"band"_s, u"expiring_within"_s, u"state"_s, u"project"_s, u"q"_s};

Result<QStringList> idsOf(const QJsonValue &given)
{
    const QJsonArray array = given.toArray();
    QStringList ids;
    for (const QJsonValue &id : array)
        ids.append(id.toString());
    if (ids.isEmpty() || ids.contains(QString()))
        return badField(u"ids"_s, u"must be an array of account ids, at least one."_s);
    ids.removeDuplicates();
    return ids;
}

/// Read by the same rules as the query of GET /accounts.
Result<store::AccountFilter> filterOf(Request request, const QJsonValue &given)
{
    if (!given.isUndefined() && !given.isObject())
        return badField(u"filter"_s, u"must be an object such as {\"band\": \"late\"}, or {} for all."_s);
    const QJsonObject filter = given.toObject();
    if (Result<> known = checkFieldNames(filter, filterFields, {}); !known)
        return fail(known.error());
    for (auto it = filter.begin(); it != filter.end(); ++it) {
        request.query.addQueryItem(
            it.key(), QString::fromLatin1(QUrl::toPercentEncoding(it.value().toVariant().toString())));
    }
    return accountFilter(request);
}

Result<double> shareOf(const QJsonValue &given)
{
    if (given.isUndefined())
        return 1.0;
    bool isNumber = given.isDouble();
    double share = given.toDouble();
    if (const QString text = given.toString(); text.endsWith(u'%'))
        share = text.chopped(1).toDouble(&isNumber) / 100;
    if (!isNumber || !(share > 0 && share <= 1))
        return badField(u"share"_s, u"must be a part such as \"10%\" or 0.1, at most all of them."_s);
    return share;
}

Result<> readRest(AccountSelection &selection)
{
    const QJsonObject &body = selection.body;
    const QJsonValue dryRun = body["dry_run"_L1];
    if (!dryRun.isUndefined() && !dryRun.isBool())
        return badField(u"dry_run"_s, u"must be true or false."_s);
    selection.dryRun = dryRun.toBool();
    const QJsonValue limit = body["limit"_L1];
    selection.most = limit.toInteger();
    if (!limit.isUndefined() && (selection.most < 1 || selection.most > mostInOneRequest))
        return badField(u"limit"_s, u"must be a whole number from 1 to 1000000: accounts in this request."_s);
    selection.filter.cursor = body["cursor"_L1].toString();
    const Result<double> share = shareOf(body["share"_L1]);
    if (!share)
        return fail(share.error());
    selection.share = *share;
    return {};
}

} // namespace

Result<AccountSelection> accountSelection(Request request, const QStringList &others)
{
    const Result<QJsonObject> body = request.body.isEmpty() ? QJsonObject() : jsonObject(request);
    if (!body)
        return fail(body.error());
    if (Result<> known = checkFieldNames(*body, fields + others, {}); !known)
        return fail(known.error());
    const QJsonValue ids = (*body)["ids"_L1];
    const QJsonValue filter = (*body)["filter"_L1];
    const bool byFilter = !filter.isUndefined() || !request.query.isEmpty();
    if (byFilter != ids.isUndefined())
        return badField(u"filter"_s, u"or \"ids\" chooses the accounts, one of the two; {} means all."_s);
    const Result<store::AccountFilter> read = filterOf(std::move(request), filter);
    if (!read)
        return fail(read.error());
    AccountSelection selection;
    selection.body = *body;
    selection.filter = *read;
    if (!ids.isUndefined()) {
        const Result<QStringList> given = idsOf(ids);
        if (!given)
            return fail(given.error());
        selection.filter.ids = *given;
    }
    selection.filter.sort = u"id"_s;
    if (Result<> rest = readRest(selection); !rest)
        return fail(rest.error());
    return selection;
}

Result<> requireState(AccountSelection &selection, const QList<core::AccountState> &allowed)
{
    if (!selection.filter.ids.isEmpty())
        return {}; // each is judged by itself, and told why not
    QString &state = selection.filter.state;
    if (state.isEmpty())
        state = toString(allowed.first());
    QStringList names;
    for (const core::AccountState one : allowed)
        names.append(u'"' + toString(one) + u'"');
    if (!names.contains(u'"' + state + u'"'))
        return badField(u"state"_s, u"can only be %1 here."_s.arg(names.join(u" or "_s)));
    return {};
}

QJsonObject AccountSelection::forAudit() const
{
    QJsonObject chosen = body;
    if (const QJsonArray ids = body["ids"_L1].toArray(); ids.size() > mostNamed)
        chosen["ids"_L1] = QJsonArray::fromStringList(filter.ids.mid(0, mostNamed));
    return chosen;
}

SelectedAccounts::SelectedAccounts(store::AccountStore &accounts, AccountSelection selection, qint64 nowMs,
                                   qint64 windowMs)
    : m_accounts(accounts), m_selection(std::move(selection)), m_nowMs(nowMs), m_windowMs(windowMs),
      m_missing(m_selection.filter.cursor.isEmpty() ? m_selection.filter.ids : QStringList())
{
    m_selection.filter.counted = false;
}

QCoro::Task<Result<QList<store::AccountRow>>> SelectedAccounts::next()
{
    store::AccountFilter &filter = m_selection.filter;
    filter.limit = pageSize;
    if (m_selection.most > 0)
        filter.limit = static_cast<int>(std::min<qint64>(pageSize, m_selection.most - m_seen));
    Result<store::AccountPage> page = co_await m_accounts.list(filter, m_nowMs, m_windowMs);
    if (!page)
        co_return fail(page.error());
    m_seen += page->rows.size();
    filter.cursor = page->nextCursor;
    m_atEnd = filter.cursor.isEmpty() || (m_selection.most > 0 && m_seen >= m_selection.most);
    QList<store::AccountRow> rows = page->rows;
    for (const store::AccountRow &row : std::as_const(rows))
        m_missing.removeOne(row.account.id);
    rows.removeIf([this](const store::AccountRow &row) {
        return m_selection.share < 1 && !core::isInShare(row.account.id, m_selection.share);
    });
    co_return rows;
}

QCoro::Task<Result<qint64>> SelectedAccounts::total()
{
    store::AccountFilter filter = m_selection.filter;
    filter.counted = true;
    filter.limit = 1;
    const Result<store::AccountPage> page = co_await m_accounts.list(filter, m_nowMs, m_windowMs);
    if (!page)
        co_return fail(page.error());
    co_return page->total;
}

QStringList SelectedAccounts::missing() const
{
    return cursor().isEmpty() ? m_missing : QStringList();
}

void SelectionResult::skip(const QString &id, const QString &reason)
{
    ++skippedCount;
    if (skipped.size() < mostNamed)
        skipped.append(QJsonObject{{u"id"_s, id}, {u"reason"_s, reason}});
}

QJsonObject SelectionResult::toJson(const QString &doneName, const QString &cursor) const
{
    return {{u"matched"_s, matched},
            {doneName, done},
            {u"skipped_count"_s, skippedCount},
            {u"skipped"_s, skipped},
            {u"next_cursor"_s, cursor}};
}

} // namespace tidekeeper::http
