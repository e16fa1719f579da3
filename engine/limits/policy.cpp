// SPDX-License-Identifier: Apache-2.0
#include "limits/policy.h"

#include <QtCore/QLocale>
#include <QtCore/QRegularExpression>

#include <algorithm>
#include <cmath>
#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 largestLimit = 1'000'000'000;
constexpr qint64 largestDayBudget = 1'000'000'000'000;
constexpr qint64 mostPlaces = 1'000;
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

    bool flag(QLatin1StringView key, std::optional<bool> fallback = std::nullopt)
    {
        if (m_json[key].isUndefined() && fallback)
            return *fallback;
        if (!m_json[key].isBool())
            fault(key, u"must be true or false."_s);
        return m_json[key].toBool();
    }

    Policy::DayAction dayAction()
    {
        const auto key = "day_action"_L1;
        const QString word = m_json[key].toString(m_json[key].isUndefined() ? u"warn"_s : QString());
        if (word == "refuse-bulk"_L1)
            return Policy::DayAction::RefuseBulk;
        if (word == "refuse"_L1)
            return Policy::DayAction::Refuse;
        if (word != "warn"_L1)
            fault(key, u"must be \"warn\", \"refuse-bulk\" or \"refuse\"."_s);
        return Policy::DayAction::Warn;
    }

    QByteArray zone(QLatin1StringView key, const QByteArray &fallback)
    {
        if (m_json[key].isUndefined())
            return fallback;
        const QByteArray name = m_json[key].toString().toUtf8();
        if (!name.isEmpty() && core::Zone::find(name))
            return name;
        fault(key, u"must be an IANA time zone such as America/Los_Angeles."_s);
        return fallback;
    }

    QHash<QString, QByteArray> families(QLatin1StringView key)
    {
        static const QRegularExpression form(u"^[a-z][a-z0-9_]{0,31}$"_s);
        QHash<QString, QByteArray> families;
        const QJsonObject object = m_json[key].toObject();
        bool isSound = m_json[key].isUndefined() || m_json[key].isObject();
        for (auto method = object.begin(); method != object.end(); ++method) {
            isSound = isSound && form.match(method->toString()).hasMatch();
            families.insert(method.key(), method->toString().toLatin1());
        }
        if (!isSound)
            fault(key,
                  u"must be an object of families by method; a family has a-z, 0-9 and _, at most 32."_s);
        return families;
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
    policy.dearestMethod = json["dearest_method"_L1].toString();
    policy.keyTtlMs = reader.wholeNumber("key_ttl_ms"_L1, 1, 1'000'000'000'000, policy.keyTtlMs);
    policy.failOpen = reader.flag("fail_open"_L1);
    policy.localFallback = reader.flag("local_fallback"_L1, policy.localFallback);
    policy.enforce = reader.flag("enforce"_L1);
    policy.dayBudget = reader.wholeNumber("day_budget"_L1, 0, largestDayBudget, 0);
    policy.dayAction = reader.dayAction();
    policy.dayZone = reader.zone("day_zone"_L1, policy.dayZone);
    policy.places = reader.wholeNumber("slots"_L1, 1, mostPlaces, policy.places);
    policy.families = reader.families("method_families"_L1);

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

qint64 Policy::largestCost(const QString &lane, const Scope &ofAccount) const
{
    const bool bulk = lane == "bulk"_L1;
    const auto most = [bulk](const Scope &scope) {
        return (scope.capacity * 1000 - (bulk ? scope.reserveMilli : 0)) / 1000;
    };
    return std::min(most(ofAccount), most(project));
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
            const QString call =
                dearestMethod.isEmpty() ? u"one call"_s : u"one call of %1"_s.arg(dearestMethod);
            sentences.append(
                u"Project \"%1\": %2 may cost %3 units, but %4 can never be granted more than %5 "
                "at once; raise the capacities or lower the reserves."_s.arg(
                    projectName, call, number(largestSingleCost), lane, number(largestCost(lane))));
        }
    }
    return sentences;
}

QuotaDay Policy::dayAt(qint64 nowMs) const
{
    return QuotaDay::at(nowMs, *core::Zone::find(dayZone));
}

QByteArrayList Policy::arguments(qint64 nowMs) const
{
    const QuotaDay day = dayAt(nowMs);
    const std::pair<const char *, qint64> fields[] = {
        {"account_capacity_milli", account.capacity * 1000},
        {"account_refill_per_minute", account.refillPerMinute},
        {"account_reserve_milli", account.reserveMilli},
        {"account_published", account.published},
        {"project_capacity_milli", project.capacity * 1000},
        {"project_refill_per_minute", project.refillPerMinute},
        {"project_reserve_milli", project.reserveMilli},
        {"project_published", project.published},
        {"key_ttl_ms", keyTtlMs},
        {"enforce", enforce ? 1 : 0},
        {"slots", places},
        {"day_budget", dayBudget},
        {"day_action", qint64(dayAction)},
        {"day_start_us", day.startMs * 1000},
        {"day_end_us", day.endMs * 1000},
        {"day_after_us", day.afterMs * 1000},
    };
    QByteArrayList arguments;
    for (const auto &[name, value] : fields)
        arguments << name << QByteArray::number(value);
    return arguments;
}

} // namespace tidekeeper::limits
