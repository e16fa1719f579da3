// SPDX-License-Identifier: Apache-2.0
#include "limits/quotacheck.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qsizetype longestAccountBytes = 320;
constexpr qsizetype longestId = 64;
constexpr qsizetype longestCaller = 64;
constexpr qint64 largestCost = 1'000'000'000;
constexpr qint64 longestMs = 30'000;

Status invalid(const QString &field, const QString &what)
{
    return Status::failure(u"invalid_request"_s, u"\"%1\" %2"_s.arg(field, what), {{u"field"_s, field}});
}

bool isControl(QChar c)
{
    return c.category() == QChar::Other_Control;
}

bool hasControl(const QString &text)
{
    return std::any_of(text.begin(), text.end(), isControl);
}

} // namespace

Status checkAccount(const QString &account)
{
    if (account.isEmpty())
        return invalid(u"account"_s, u"is missing: give the address of the mailbox."_s);
    // The count of characters first: the bytes of a huge text need not be made.
    if (account.size() > longestAccountBytes || account.toUtf8().size() > longestAccountBytes)
        return invalid(u"account"_s, u"must be at most 320 bytes of UTF-8."_s);
    if (!account.isValidUtf16())
        return invalid(u"account"_s, u"must be valid Unicode."_s);
    const auto isForeign = [](QChar c) { return c.isSpace() || isControl(c); };
    if (std::any_of(account.begin(), account.end(), isForeign))
        return invalid(u"account"_s, u"must have no white space inside and no control characters."_s);
    return Status::success();
}

Status checkQuota(const QuotaRequest &request)
{
    if (const Status status = checkAccount(request.account); !status.ok())
        return status;
    if (request.cost < 0 || request.cost > largestCost)
        return invalid(u"cost"_s, u"must be a whole number of units from 0 to 1000000000."_s);
    if (request.lane != "realtime"_L1 && request.lane != "bulk"_L1 && request.lane != "renewal"_L1)
        return invalid(u"lane"_s, u"must be realtime or bulk."_s);
    if (request.maxWaitMs < 0 || request.maxWaitMs > longestMs)
        return invalid(u"max_wait_ms"_s, u"must be a whole number from 0 to 30000."_s);
    if (request.id.size() > longestId)
        return invalid(u"id"_s, u"must be at most 64 characters."_s);
    if (request.deadlineMs < 1 || request.deadlineMs > longestMs)
        return invalid(u"deadline_ms"_s, u"must be a whole number from 1 to 30000."_s);
    if (request.caller.size() > longestCaller || hasControl(request.caller))
        return invalid(u"caller"_s, u"must be at most 64 characters, none of them a control character."_s);
    // It is shown in metrics, which never show addresses.
    if (request.caller.contains(u'@'))
        return invalid(u"caller"_s, u"must name a program, not a mailbox: \"@\" is not allowed."_s);
    return Status::success();
}

} // namespace tidekeeper::limits
