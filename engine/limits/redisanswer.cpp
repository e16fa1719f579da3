// SPDX-License-Identifier: Apache-2.0
#include "limits/redisanswer.h"

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qsizetype decisionItems = 9;

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

} // namespace

AnswerKind kindOf(const Result<redis::Value> &answer)
{
    if (!answer)
        return isTransport(answer.error().code) ? AnswerKind::Away : AnswerKind::Broken;
    if (!answer->isError())
        return answer->items.size() == decisionItems ? AnswerKind::Decision : AnswerKind::Broken;
    if (answer->text.startsWith("TKARG"))
        return AnswerKind::Argument;
    if (answer->text.startsWith("TKPOLICY"))
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

} // namespace tidekeeper::limits
