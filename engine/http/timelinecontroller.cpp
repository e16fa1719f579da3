// SPDX-License-Identifier: Apache-2.0
#include "http/timelinecontroller.h"

#include "http/accountfields.h"
#include "http/listquery.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr int usualPage = 50;

/// The id of the last entry of the page before; 0 = from the newest.
Result<qint64> cursorOf(const Request &request)
{
    const QString text = request.query.queryItemValue(u"cursor"_s, QUrl::FullyDecoded);
    if (text.isEmpty())
        return 0;
    bool isNumber = false;
    const qint64 id = text.toLongLong(&isNumber);
    if (!isNumber || id <= 0)
        return badField(u"cursor"_s, u"must be the next_cursor of a page before."_s);
    return id;
}

} // namespace

TimelineController::TimelineController(Router &router, store::AccountStore &accounts, store::Journal &journal)
    : m_accounts(accounts), m_journal(journal)
{
    router.add(Method::Get, u"/api/v1/accounts/{id}/timeline"_s, Role::Viewer,
               [this](Request request) { return list(std::move(request)); });
}

QCoro::Task<Response> TimelineController::list(Request request)
{
    if (const Result<> sound = checkParameters(request, {u"limit"_s, u"cursor"_s}); !sound)
        co_return Response::problem(sound.error());
    const Result<int> limit = limitOf(request, usualPage);
    const Result<qint64> before = cursorOf(request);
    if (!limit || !before)
        co_return Response::problem(limit ? before.error() : limit.error());
    const QString id = request.parameters.value(u"id"_s);
    const Result<store::AccountRow> known = co_await m_accounts.find(id);
    if (!known)
        co_return Response::problem(known.error());
    // One more than is shown tells whether there is a next page.
    const Result<QList<store::TimelineEntry>> found = co_await m_journal.timeline(id, *before, *limit + 1);
    if (!found)
        co_return Response::problem(found.error());
    QJsonArray entries;
    for (const store::TimelineEntry &entry : found->mid(0, *limit))
        entries.append(
            QJsonObject{{u"at"_s, entry.at}, {u"kind"_s, entry.kind}, {u"details"_s, entry.details}});
    const bool more = found->size() > *limit;
    const QString next = more ? QString::number(found->at(*limit - 1).id) : QString();
    co_return Response::json({{u"entries"_s, entries}, {u"next_cursor"_s, next}});
}

} // namespace tidekeeper::http
