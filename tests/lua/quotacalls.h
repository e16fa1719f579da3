// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quotaredis.h"

namespace tidekeeper::test {

enum class ArgumentKind : quint8 {
    Number,
    NumberOrNothing, ///< empty: not said
    NotZero,
    Word, ///< one of a few
    Family,
};

struct QuotaArgument {
    QByteArray name; ///< as the error tells it
    QByteArray good;
    ArgumentKind kind;
    QByteArray tooLarge = {}; ///< of a number
};

/// A function of the library with keys and arguments that it takes.
struct QuotaCall {
    QByteArray function;
    QByteArrayList keys;
    QList<QuotaArgument> arguments;
    qsizetype needed; ///< arguments that may not be left out
    bool isTimed = true;

    QByteArrayList good() const;
};

/// Every function and form of it, but publish.
QList<QuotaCall> allQuotaCalls();
/// What publish takes: each by its name, the argument before it. Those without a default come first.
QList<QuotaArgument> policyFields();
constexpr int neededPolicyFields = 8;

/// 2^53 + 2, the first number that Lua can tell from 2^53.
const QByteArray overLimitOfTime = "9007199254740994";

/// What no argument of this kind may be.
QByteArrayList nonsenseFor(const QuotaArgument &argument);

} // namespace tidekeeper::test
