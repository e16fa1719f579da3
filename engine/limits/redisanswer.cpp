// SPDX-License-Identifier: Apache-2.0
#include "limits/redisanswer.h"

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

template<std::size_t N>
bool startsWithOneOf(const QByteArray &text, const std::array<QByteArrayView, N> &codes)
{
    return std::any_of(codes.begin(), codes.end(),
                       [&text](QByteArrayView code) { return text.startsWith(code); });
}

bool isTransport(const QString &code)
{
    return code == "redis_unavailable"_L1 || code == "redis_timeout"_L1 || code == "redis_closed"_L1;
}

constexpr std::array<QByteArrayView, 5> notExecuted{"LOADING", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"};
constexpr std::array<QByteArrayView, 6> away{"OOM",        "READONLY",   "MISCONF",
                                             "MASTERDOWN", "NOREPLICAS", "BUSY"};

bool hasShape(const redis::Value &value, qsizetype items)
{
    return items == 0 ? value.type == redis::Value::Type::Integer : value.items.size() == items;
}

QString textOf(const Result<redis::Value> &answer)
{
    if (!answer)
        return answer.error().text;
    return answer->isError() ? QString::fromUtf8(answer->text) : u"the answer has another shape"_s;
}

} // namespace

AnswerKind kindOf(const Result<redis::Value> &answer, qsizetype items)
{
    if (!answer)
        return isTransport(answer.error().code) ? AnswerKind::Away : AnswerKind::Broken;
    if (!answer->isError())
        return hasShape(*answer, items) ? AnswerKind::Answer : AnswerKind::Broken;
    if (answer->text.startsWith("TKARG"))
        return AnswerKind::Argument;
    if (answer->text.startsWith("TKPOLICY") || answer->text.startsWith("WRONGTYPE"))
        return AnswerKind::NoPolicy;
    if (startsWithOneOf(answer->text, notExecuted))
        return AnswerKind::NotExecuted;
    return startsWithOneOf(answer->text, away) ? AnswerKind::Away : AnswerKind::Broken;
}

Error argumentError(const QByteArray &text)
{
    const QString sentence = QString::fromUtf8(text).section(u' ', 1);
    return Error::failure(u"invalid_request"_s,
                          u"\"%1\" %2."_s.arg(sentence.section(u' ', 0, 0), sentence.section(u' ', 1)),
                          {{u"field"_s, sentence.section(u' ', 0, 0)}});
}

Error failureOf(AnswerKind kind, const Result<redis::Value> &answer)
{
    if (kind == AnswerKind::Argument)
        return argumentError(answer->text);
    const QString why = kind == AnswerKind::Away ? u"Redis cannot decide now: %1."_s
                                                 : u"The limiter's own functions failed in Redis: %1."_s;
    QString what = textOf(answer);
    if (what.endsWith(u'.'))
        what.chop(1);
    return Error::failure(u"limiter_unavailable"_s, why.arg(what));
}

} // namespace tidekeeper::limits
