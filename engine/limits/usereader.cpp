// SPDX-License-Identifier: Apache-2.0
#include "limits/usereader.h"

#include <vector>

namespace tidekeeper::limits {

namespace {

constexpr qint64 engineKnownMs = 150'000;
const QByteArray mostEngines("50");
constexpr qsizetype accountsPerCommand = 100;

struct Question {
    qint64 slot;
    QByteArrayList accounts;
    QCoro::Task<Result<redis::Value>> answer;
};

QByteArrayList knownEngines(const Keys &keys, qint64 nowMs)
{
    return {"ZRANGE", keys.engines(), QByteArray::number(nowMs - engineKnownMs), "+inf", "BYSCORE", "LIMIT",
            "0",      mostEngines};
}

/// One for each engine, slot and hundred accounts, all sent together.
std::vector<Question> ask(redis::RedisConnection &connection, const Keys &keys,
                          const QList<redis::Value> &engines, const QByteArrayList &accounts, qint64 nowMs)
{
    std::vector<Question> questions;
    for (const redis::Value &engine : engines) {
        for (qint64 slot = slotOf(nowMs); slot > slotOf(nowMs) - slotsOfAMinute; --slot) {
            for (qsizetype i = 0; i < accounts.size(); i += accountsPerCommand) {
                const QByteArrayList some = accounts.mid(i, accountsPerCommand);
                const QByteArrayList command = QByteArrayList{"HMGET", keys.uses(engine.text, slot)} + some;
                questions.push_back({slot, some, connection.command(command)});
            }
        }
    }
    return questions;
}

} // namespace

QCoro::Task<UsesByAccount> readUses(redis::RedisConnection &connection, Keys keys, QByteArrayList accounts,
                                    qint64 nowMs)
{
    UsesByAccount uses;
    const Result<redis::Value> engines = co_await connection.command(knownEngines(keys, nowMs));
    if (!engines || engines->isError())
        co_return uses;
    std::vector<Question> questions = ask(connection, keys, engines->items, accounts, nowMs);
    for (Question &question : questions) {
        const Result<redis::Value> answer = co_await question.answer;
        if (!answer || answer->items.size() != question.accounts.size())
            continue;
        for (qsizetype i = 0; i < answer->items.size(); ++i) {
            if (!answer->items[i].isNil())
                uses[question.accounts[i]].add(question.slot, answer->items[i].text, nowMs);
        }
    }
    co_return uses;
}

} // namespace tidekeeper::limits
