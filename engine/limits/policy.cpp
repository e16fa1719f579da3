// SPDX-License-Identifier: Apache-2.0
#include "limits/policy.h"

#include <QtCore/QLocale>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 largestLimit = 1'000'000'000;
constexpr qint64 minuteMs = 60'000;
constexpr int slowestPaceDivisor = 4; // a bucket may be slowed down to a quarter of its refill

/// Takes the fields out of the JSON one by one and keeps the first fault.
class Reader {
public:
    explicit Reader(const QJsonObject &json) : m_json(json) { }

    qint64 wholeNumber(QLatin1StringView key, qint64 smallest, qint64 largest, qint64 fallback = -1)
    {
        const QJsonValue value = m_json[key];
        if (value.isUndefined() && fallback >= 0)
            return fallback;
        const double number = value.toDouble(NAN);
        if (number >= double(smallest) && number <= double(largest) && number == std::floor(number))
            return qint64(number);
        fault(key, u"must be a whole number from %1 to %2."_s.arg(smallest).arg(largest));
        return smallest;
    }

    double share(QLatin1StringView key)
    {
        const double number = m_json[key].toDouble(NAN);
        if (number >= 0 && number < 1)
            return number;
        fault(key, u"must be a number from 0 to below 1."_s);
        return 0;
    }

    bool flag(QLatin1StringView key)
    {
        if (!m_json[key].isBool())
            fault(key, u"must be true or false."_s);
        return m_json[key].toBool();
    }

    void fault(QLatin1StringView key, const QString &what)
    {
        if (m_fault.ok())
            m_fault =
                Status::failure(u"invalid_policy"_s, u"%1 %2"_s.arg(key, what), {{u"field"_s, QString(key)}});
    }

    const Status &firstFault() const { return m_fault; }

private:
    const QJsonObject &m_json;
    Status m_fault;
};

qint64 reserve(qint64 capacity, double share)
{
    return qint64(std::floor(double(capacity) * 1000 * share));
}

/// A bucket that is slowed down must not expire before it is full.
qint64 shortestTtlMs(const Policy::Scope &scope)
{
    return slowestPaceDivisor * scope.capacity * minuteMs / scope.refillPerMinute;
}

QString number(qint64 value)
{
    return QLocale(QLocale::English).toString(value);
}

} // namespace

qint64 Policy::Scope::worstMinute(qint64 sendSlackMs) const
{
    return capacity + (refillPerMinute * (minuteMs + sendSlackMs) + minuteMs - 1) / minuteMs;
}

Result<Policy> Policy::from(const QJsonObject &json)
{
    Reader reader(json);
    Policy policy;
    policy.account.capacity = reader.wholeNumber("account_capacity"_L1, 1, largestLimit);
    policy.account.refillPerMinute = reader.wholeNumber("account_refill_per_minute"_L1, 1, largestLimit);
    policy.account.reserveMilli = reserve(policy.account.capacity, reader.share("bulk_reserve"_L1));
    policy.account.published = reader.wholeNumber("published_account"_L1, 0, largestLimit, 0);
    policy.project.capacity = reader.wholeNumber("project_capacity"_L1, 1, largestLimit);
    policy.project.refillPerMinute = reader.wholeNumber("project_refill_per_minute"_L1, 1, largestLimit);
    policy.project.reserveMilli = reserve(policy.project.capacity, reader.share("project_bulk_reserve"_L1));
    policy.project.published = reader.wholeNumber("published_project"_L1, 0, largestLimit, 0);
    policy.sendSlackMs = reader.wholeNumber("send_slack_ms"_L1, 0, minuteMs, policy.sendSlackMs);
    policy.largestSingleCost = reader.wholeNumber("largest_single_cost"_L1, 0, largestLimit, 0);
    policy.keyTtlMs = reader.wholeNumber("key_ttl_ms"_L1, 1, 1'000'000'000'000, policy.keyTtlMs);
    policy.failOpen = reader.flag("fail_open"_L1);
    policy.enforce = reader.flag("enforce"_L1);

    const qint64 shortest = std::max(shortestTtlMs(policy.account), shortestTtlMs(policy.project));
    if (policy.keyTtlMs <= shortest) {
        reader.fault(
            "key_ttl_ms"_L1,
            u"must be longer than 4 × capacity ÷ refill, here %1 s, or a bucket could expire before it is "
            "full; raise it, or raise the refill."_s.arg((shortest + 999) / 1000));
    }
    if (!reader.firstFault().ok())
        return fail(reader.firstFault());
    return policy;
}

qint64 Policy::largestCost(const QString &lane) const
{
    const bool bulk = lane == "bulk"_L1;
    const auto most = [bulk](const Scope &scope) {
        return (scope.capacity * 1000 - (bulk ? scope.reserveMilli : 0)) / 1000;
    };
    return std::min(most(account), most(project));
}

QStringList Policy::warnings(const QString &projectName) const
{
    QStringList sentences;
    const auto checkMinute = [&](const Scope &scope, const QString &who, const QString &field) {
        const qint64 worst = scope.worstMinute(sendSlackMs);
        if (scope.published > 0 && worst > scope.published) {
            sentences.append(
                u"Project \"%1\": %2 may send %3 units within one minute, more than the published %4; "
                "lower %5_capacity or %5_refill_per_minute."_s.arg(projectName, who, number(worst),
                                                                   number(scope.published), field));
        }
    };
    checkMinute(account, u"one account"_s, u"account"_s);
    checkMinute(project, u"all accounts together"_s, u"project"_s);
    for (const QString &lane : {u"realtime"_s, u"bulk"_s}) {
        if (largestSingleCost > largestCost(lane)) {
            sentences.append(
                u"Project \"%1\": one call may cost %2 units, but %3 can never be granted more than %4 "
                "at once; raise the capacities or lower the reserves."_s.arg(
                    projectName, number(largestSingleCost), lane, number(largestCost(lane))));
        }
    }
    return sentences;
}

QByteArrayList Policy::arguments() const
{
    const auto n = [](qint64 value) { return QByteArray::number(value); };
    return {
        "account_capacity_milli",
        n(account.capacity * 1000),
        "account_refill_per_minute",
        n(account.refillPerMinute),
        "account_reserve_milli",
        n(account.reserveMilli),
        "project_capacity_milli",
        n(project.capacity * 1000),
        "project_refill_per_minute",
        n(project.refillPerMinute),
        "project_reserve_milli",
        n(project.reserveMilli),
        "key_ttl_ms",
        n(keyTtlMs),
        "enforce",
        n(enforce ? 1 : 0),
    };
}

} // namespace tidekeeper::limits
