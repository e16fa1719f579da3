// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "redis/redisvalue.h"

namespace tidekeeper::limits {

/// What an answer of a quota function means for the call that got it.
enum class AnswerKind : quint8 {
    Answer, ///< what the function has to say
    Argument, ///< the caller's fault: TKARG
    NoPolicy, ///< publish and ask again: TKPOLICY, or something else may lie under the policy's key
    NotExecuted, ///< ask again at once: the server is loading or the slot moves
    Away, ///< Redis cannot decide now: not reached, out of memory, read-only
    Broken ///< our own fault, such as missing rights or an answer of another shape: never taken for consent
};

/// items: how many the answer has when all is well; 0: it is a number.
AnswerKind kindOf(const Result<redis::Value> &answer, qsizetype items);

/// "TKARG cost must be …" → invalid_request with the field "cost" and the sentence.
Error argumentError(const QByteArray &text);

/// The failure of a call that has no answer: invalid_request or limiter_unavailable.
Error failureOf(AnswerKind kind, const Result<redis::Value> &answer);

} // namespace tidekeeper::limits
