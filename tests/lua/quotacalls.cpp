// SPDX-License-Identifier: Apache-2.0
#include "quotacalls.h"

namespace tidekeeper::test {

namespace {

const QByteArray account = QuotaRedis::accountKey();
const QByteArray project = QuotaRedis::projectKey();
const QByteArray policy = QuotaRedis::policyKey();
const QByteArray slots = QuotaRedis::slotsKey();

QList<QuotaArgument> acquireArguments()
{
    return {{"cost", "5", ArgumentKind::Number, "1000000001"},
            {"lane", "bulk", ArgumentKind::Word},
            {"max_wait_ms", "10", ArgumentKind::Number, "30001"},
            {"deadline_us", QByteArray::number(4 * QuotaRedis::startUs), ArgumentKind::NumberOrNothing,
             overLimitOfTime},
            {"family", "mail_sending", ArgumentKind::Family}};
}

} // namespace

QByteArrayList QuotaCall::good() const
{
    QByteArrayList values;
    for (const QuotaArgument &argument : arguments)
        values.append(argument.good);
    return values;
}

QList<QuotaArgument> policyFields()
{
    const auto number = [](const char *name, const char *good, const char *tooLarge) {
        return QuotaArgument{name, good, ArgumentKind::Number, tooLarge};
    };
    const auto notZero = [](const char *name, const char *good, const char *tooLarge) {
        return QuotaArgument{name, good, ArgumentKind::NotZero, tooLarge};
    };
    return {notZero("account_capacity_milli", "1000", "1000000000001"),
            notZero("account_refill_per_minute", "60", "1000000001"),
            number("account_reserve_milli", "0", "1000000000001"),
            notZero("project_capacity_milli", "1000", "1000000000001"),
            notZero("project_refill_per_minute", "60", "1000000001"),
            number("project_reserve_milli", "0", "1000000000001"),
            notZero("key_ttl_ms", "3600000", "1000000000001"),
            number("enforce", "1", "2"),
            number("account_published", "6000", "1000000001"),
            number("project_published", "6000", "1000000001"),
            number("day_budget", "1000", "1000000000001"),
            number("day_action", "2", "3"),
            number("day_start_us", "1", overLimitOfTime),
            number("day_end_us", "2", overLimitOfTime),
            number("day_after_us", "3", overLimitOfTime),
            number("slots", "10", "1001")};
}

QList<QuotaCall> allQuotaCalls()
{
    const QByteArray refund = QuotaRedis::refundKey("alice", QuotaRedis::startUs);
    const QByteArray id = QuotaRedis::idKey("alice", "new");
    const QuotaArgument cost{"cost", "5", ArgumentKind::Number, "1000000001"};
    const QuotaArgument grant{"grant_us", QByteArray::number(QuotaRedis::startUs), ArgumentKind::Number,
                              overLimitOfTime};
    return {
        {"acquire", {account, project, policy}, acquireArguments(), 3},
        {"acquire", {account, project, policy, id}, acquireArguments(), 3},
        {"hold", {account, project, policy, slots}, acquireArguments(), 3},
        {"hold", {account, project, policy, id, slots}, acquireArguments(), 3},
        {"release", {slots}, {{"slot", "1-1", ArgumentKind::Family}}, 1, false},
        {"report",
         {account, project, policy},
         {{"verdict", "rate", ArgumentKind::Word},
          {"scope", "account", ArgumentKind::Word},
          {"family", "mail_sending", ArgumentKind::Family},
          {"retry_after_ms", "5000", ArgumentKind::NumberOrNothing, overLimitOfTime},
          {"grant_us", QByteArray::number(QuotaRedis::startUs), ArgumentKind::NumberOrNothing,
           overLimitOfTime},
          {"cost", "5", ArgumentKind::NumberOrNothing, "1000000001"},
          {"told_limit", "3000", ArgumentKind::NumberOrNothing, overLimitOfTime}},
         4},
        {"refund", {account, project, policy, refund}, {cost, grant}, 2},
        {"refund", {account, project, policy, refund, id}, {cost, grant}, 2},
        {"override",
         {account, project, policy},
         {{"capacity_milli", "200000", ArgumentKind::NotZero, "1000000000001"},
          {"refill_per_minute", "600", ArgumentKind::NotZero, "1000000001"},
          {"reserve_milli", "1000", ArgumentKind::Number, "1000000000001"},
          {"slots", "5", ArgumentKind::NotZero, "1001"}},
         4},
        {"settle",
         {account, project, policy},
         {{"account", "5000", ArgumentKind::Number, "1000000000000001"},
          {"project", "5000", ArgumentKind::Number, "1000000000000001"}},
         2},
        {"levels",
         {project, policy, QuotaRedis::activeKey()},
         {{"arguments", "top", ArgumentKind::Word},
          {"offset", "0", ArgumentKind::Number, "1000000001"},
          {"count", "10", ArgumentKind::Number, "1001"}},
         3},
    };
}

QByteArrayList nonsenseFor(const QuotaArgument &argument)
{
    const QByteArray zeroByte("1\0", 2);
    QByteArrayList values;
    switch (argument.kind) {
    case ArgumentKind::Word:
        return {"", "1", "-1", "Bulk", "bulk ", "rate\n", "nan", QByteArray(10'000, 'x'), zeroByte};
    case ArgumentKind::Family:
        return {"mail sending",          "mail:sending", "mail.sending", QByteArray(41, 'x'),
                QByteArray(10'000, 'x'), "\xC3\xA9",     "a\n",          zeroByte};
    case ArgumentKind::NotZero:
        values.append("0");
        [[fallthrough]];
    case ArgumentKind::Number:
        values.append("");
        [[fallthrough]];
    case ArgumentKind::NumberOrNothing:
        values += {"-1",
                   "-0",
                   "+1",
                   "1.5",
                   "1.0",
                   ".5",
                   "1e3",
                   "1e309",
                   "0x10",
                   "nan",
                   "-nan",
                   "inf",
                   "-inf",
                   " ",
                   " 1",
                   "1 ",
                   "1\n",
                   "one",
                   "nil",
                   "false",
                   "1,000",
                   "\xD9\xA1",
                   zeroByte,
                   argument.tooLarge,
                   "99999999999999999999",
                   QByteArray(10'000, '9')};
    }
    return values;
}

} // namespace tidekeeper::test
