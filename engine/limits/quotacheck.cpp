// SPDX-License-Identifier: Apache-2.0
#include "limits/quotacheck.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qsizetype longestAccountBytes = 320;
constexpr qsizetype longestId = 64;
constexpr qint64 largestCost = 1'000'000'000;
constexpr qint64 longestMs = 30'000;

Status invalid(const QString &field, const QString &what)
{
    return Status::failure(u"invalid_request"_s, u"\"%1\" %2"_s.arg(field, what), {{u"field"_s, field}});
}

} // namespace

Status checkQuota(const QuotaRequest &request)
{
    if (request.account.isEmpty())
        return invalid(u"account"_s, u"is missing: give the address of the mailbox."_s);
    if (request.account.toUtf8().size() > longestAccountBytes)
        return invalid(u"account"_s, u"must be at most 320 bytes of UTF-8."_s);
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
    if (request.hold)
        return invalid(u"hold"_s, u"is not supported: this engine leases no places."_s);
    return Status::success();
}

} // namespace tidekeeper::limits
