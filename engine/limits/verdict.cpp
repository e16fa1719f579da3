// SPDX-License-Identifier: Apache-2.0
#include "limits/verdict.h"

#include "core/account.h"
#include "limits/quotacheck.h"

#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 largestWaitMs = 86'400'000; // Redis cuts there too
constexpr qint64 largestLimit = 1'000'000'000;

tl::unexpected<Error> invalid(const QString &field, const QString &what)
{
    return fail(u"invalid_request"_s, u"\"%1\" %2"_s.arg(field, what), {{u"field"_s, field}});
}

/// A whole number of at least 0, cut at `largest`; 0 when the field is not there, null when it is no such number.
std::optional<qint64> wholeNumber(const QJsonValue &value, qint64 largest)
{
    const double number = value.isUndefined() ? 0 : value.toDouble(NAN);
    if (!(number >= 0) || number != std::floor(number))
        return std::nullopt;
    return number > double(largest) ? largest : qint64(number);
}

} // namespace

Result<Verdict> Verdict::from(const QString &limiter, const QJsonObject &json)
{
    Verdict verdict;
    verdict.account = core::normalizedEmail(json["account"_L1].toString());
    if (const Status status = checkAccount(verdict.account); !status.ok())
        return fail(status);
    verdict.project = json["project"_L1].toString(u"default"_s);
    if (!json["rate"_L1].isBool())
        return invalid(u"rate"_s, u"must be true or false."_s);
    verdict.rate = json["rate"_L1].toBool();
    if (verdict.rate) {
        verdict.scope = json["scope"_L1].toString();
        if (verdict.scope != "account"_L1 && verdict.scope != "project"_L1)
            return invalid(u"scope"_s, u"must be account or project."_s);
    }
    verdict.family = json["family"_L1].toString();
    const auto retryAfterMs = wholeNumber(json["retry_after_ms"_L1], largestWaitMs);
    if (!retryAfterMs)
        return invalid(u"retry_after_ms"_s, u"must be a whole number that is not negative."_s);
    verdict.retryAfterMs = *retryAfterMs;
    const auto toldLimit = wholeNumber(json["told_limit"_L1], largestLimit);
    if (!toldLimit)
        return invalid(u"told_limit"_s, u"must be a whole number that is not negative."_s);
    verdict.toldLimit = *toldLimit;

    const QString grantId = json["grant_id"_L1].toString();
    if (grantId.isEmpty())
        return verdict;
    const Result<Grant> grant = grantFrom(limiter, grantId);
    if (!grant)
        return fail(grant.error());
    if (grant->account != verdict.account || grant->project != verdict.project)
        return invalid(u"grant_id"_s, u"is a grant of another account or project."_s);
    verdict.grant = *grant;
    return verdict;
}

QByteArrayList Verdict::arguments() const
{
    // The time of a degraded grant is not the server's, and its cost was not taken there.
    const bool isKnown = grant && !grant->degraded;
    const auto number = [](qint64 value) { return QByteArray::number(value); };
    return {rate ? "rate" : "ok",
            scope.toLatin1(),
            family.toUtf8(),
            number(retryAfterMs),
            number(isKnown ? grant->nowUs : 0),
            number(isKnown ? grant->cost : 0),
            number(toldLimit)};
}

} // namespace tidekeeper::limits
