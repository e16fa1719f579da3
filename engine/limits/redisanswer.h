// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "redis/redisvalue.h"

namespace tidekeeper::limits {

/// What an answer of a quota function means for the call that got it.
enum class AnswerKind : quint8 {
    Decision, ///< granted or refused
    Argument, ///< the caller's fault: TKARG
    NoPolicy, ///< publish and ask again: TKPOLICY
    NotExecuted, ///< ask again at once: the server is loading or the slot moves
    Away, ///< Redis cannot decide now: not reached, out of memory, read-only
    Broken ///< our own fault, such as missing rights or a wrong type of key: never taken for consent
};

AnswerKind kindOf(const Result<redis::Value> &answer);

/// "TKARG cost must be …" → invalid_request with the field "cost" and the sentence.
Error argumentError(const QByteArray &text);

} // namespace tidekeeper::limits
