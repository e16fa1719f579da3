// SPDX-License-Identifier: Apache-2.0
#include "quotalevels.h"

namespace tidekeeper::test {

namespace {

constexpr qsizetype accountItems = 10;
constexpr qsizetype projectItems = 15;

QuotaLevel levelFrom(const redis::Value &row, qsizetype items)
{
    if (row.items.size() != items)
        qFatal("a row has %lld items", qint64(row.items.size()));
    const auto item = [&row](qsizetype i) { return row.items[i].toInteger(); };
    return {item(0), item(1), item(2), item(3), item(4), item(5) == 1, row.items[6].text};
}

QuotaAccountLevel accountFrom(const redis::Value &row)
{
    return {levelFrom(row, accountItems), row.items[7].text, row.items[8].toInteger(),
            row.items[9].toInteger() == 1};
}

QuotaProjectLevel projectFrom(const redis::Value &row)
{
    const QuotaLevel level = levelFrom(row, projectItems);
    const auto item = [&row](qsizetype i) { return row.items[i].toInteger(); };
    return {level, item(7), item(8), item(9), row.items[10].text, item(11), item(12), item(13), item(14)};
}

} // namespace

QuotaLevels levelsAt(QuotaRedis &redis, qint64 nowUs, const QByteArrayList &arguments)
{
    return levelsFrom(redis.callAt(
        nowUs, "tidekeeper_levels",
        {QuotaRedis::projectKey(), QuotaRedis::policyKey(), QuotaRedis::activeKey()}, arguments));
}

QuotaLevels levelsFrom(const redis::Value &answer)
{
    if (answer.isError() || answer.items.size() != 4)
        qFatal("levels: %s", answer.text.constData());
    QuotaLevels levels{
        answer.items[0].toInteger(), projectFrom(answer.items[1]), answer.items[2].toInteger(), {}};
    for (const redis::Value &row : answer.items[3].items)
        levels.accounts.append(accountFrom(row));
    return levels;
}

} // namespace tidekeeper::test
