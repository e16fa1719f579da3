// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace gmailquota {

/// What Gmail answered to one call.
struct GmailAnswer {
    int status = 0; ///< HTTP, 100 … 599
    QJsonObject headers; ///< texts; names in any case
    QJsonValue body; ///< text, object or undefined
};

/// What the answer means for those who want to call next.
struct RateAnswer {
    bool rate = false; ///< Gmail refused the call for its rate
    /// Gmail let the call past its limits: a proof that a freeze is over. A failure of Gmail's own and a refusal of the
    /// client or the token are none, because they may come before any limit is looked at.
    bool admitted = false;
    QString scope; ///< of a rate answer: "account" or "project"
    QString family; ///< of a rate answer: the family of methods concerned; empty: all
    QString reason; ///< Gmail's own word; empty when it gave none
    bool retryable = false; ///< the same call may succeed later without anybody doing anything
    qint64 retryAfterMs = 0; ///< 1 s … 24 h; 0 = not told
    bool untilDayEnd = false; ///< a limit per day is used up; retryAfterMs then is until its end
    qint64 toldLimit = 0; ///< units per minute that Gmail says it allows in this scope; 0 = not told
    QString sentence; ///< for people
};

/// Decides by the reason that Gmail gives, not by the status, which is 403 or 429 for the same cause; by the message
/// when there is no reason; by the status 429 when there is neither. nowMs: epoch, for answers without a Date.
RateAnswer classify(const GmailAnswer &answer, qint64 nowMs);

} // namespace gmailquota
