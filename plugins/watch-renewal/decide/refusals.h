// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decide/apierror.h"

#include <span>

namespace watchrenewal {

enum class Meaning : quint8 {
    Transient, ///< try again later
    Rate, ///< too much, too fast
    Unauthorized, ///< this access token is not accepted
    Project, ///< configuration: the operator's fault, the same for every account of the project
    Parked, ///< this account cannot be renewed until somebody changes something at Google
    NeedsReauth, ///< the user has to consent again; the grant itself is kept
    OwnedElsewhere ///< a watch with another topic is active on the mailbox
};

/// One kind of refusal that is known. A row matches when all of its filled-in conditions hold.
struct Refusal {
    int status;
    QLatin1StringView reason; ///< error.errors[0].reason
    QLatin1StringView infoReason; ///< error.details[] of type ErrorInfo: reason
    QLatin1StringView message; ///< part of error.message

    Meaning meaning;
    QLatin1StringView code; ///< empty: the reason, or else "http_STATUS"
    QLatin1StringView text; ///< "%1" is Gmail's own message
    QLatin1StringView remedy;
};

/// Every row, the first that matches counts. What matches none is transient: nothing unknown ever costs an account
/// its grant or stops a project.
std::span<const Refusal> knownRefusals();

/// The row for an answer of 4xx; nullptr when it is unknown. 5xx and 408 are never looked up: they are transient
/// whatever their body claims.
const Refusal *refusalFor(int status, const ApiError &error);

} // namespace watchrenewal
