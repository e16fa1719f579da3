// SPDX-License-Identifier: Apache-2.0
#include "decide/refusals.h"

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace watchrenewal {

namespace {

constexpr QLatin1StringView any;
constexpr auto quotaText = "Gmail refused the call for its quota: %1"_L1;
constexpr auto pubSub = "Error sending test message to Cloud PubSub"_L1;
constexpr auto enableApi = "Enable the Gmail API in the Google Cloud console."_L1;
constexpr auto consentAgain =
    "Let the user connect the mailbox again and grant a scope that reads mail, such as "
    "gmail.readonly."_L1;

// Sources: developers.google.com/workspace/gmail/api/guides/handle-errors, and what was seen where a row says so.
constexpr std::array rows{
    Refusal{401, any, any, any, Meaning::Unauthorized, "http_401"_L1,
            "Gmail did not accept the access token."_L1, any},

    // Gmail tells by reason, not by status: a full minute of units is a 403, too many calls at once a 429.
    Refusal{429, any, any, any, Meaning::Rate, any, quotaText, any},
    Refusal{403, "rateLimitExceeded"_L1, any, any, Meaning::Rate, any, quotaText, any},
    Refusal{403, "userRateLimitExceeded"_L1, any, any, Meaning::Rate, any, quotaText, any},
    Refusal{403, "dailyLimitExceeded"_L1, any, any, Meaning::Rate, any, quotaText,
            "The project's own daily limit is used up: raise it in the Google Cloud console."_L1},
    Refusal{403, "quotaExceeded"_L1, any, any, Meaning::Rate, any, quotaText, any},
    Refusal{403, any, "RATE_LIMIT_EXCEEDED"_L1, any, Meaning::Rate, any, quotaText, any},
    // googleapis/google-api-ruby-client#20544; the same text circulates as a 403 without a reason.
    Refusal{403, any, any, "User-rate limit exceeded"_L1, Meaning::Rate, any, quotaText, any},

    // Eagnir/GmailNotify-PubSub-GCP#2
    Refusal{
        400, any, any, "Only one user push notification client allowed"_L1, Meaning::OwnedElsewhere,
        "watch_owned_elsewhere"_L1,
        "Another environment of this Google project watches this mailbox with another topic than ours."_L1,
        any},
    // googleapis/google-api-nodejs-client#1301
    Refusal{400, any, any, "Invalid topicName"_L1, Meaning::Project, "invalid_topic"_L1,
            "Gmail does not accept the topic: %1"_L1,
            "Use a topic of the Google project that the OAuth client belongs to, written "
            "projects/PROJECT/topics/TOPIC."_L1},
    // dacastro4/laravel-gmail#285, googleapis/google-api-nodejs-client#2843 and #3593
    Refusal{403, any, any, pubSub, Meaning::Project, "topic_forbidden"_L1,
            "Gmail may not publish to the topic: %1"_L1,
            "Give gmail-api-push@system.gserviceaccount.com the role Pub/Sub Publisher on the topic; an "
            "organisation "
            "policy of domain restricted sharing may forbid it."_L1},
    Refusal{404, any, any, pubSub, Meaning::Project, "topic_missing"_L1, "The topic does not exist: %1"_L1,
            "Create the Pub/Sub topic or correct its name."_L1},
    Refusal{403, "accessNotConfigured"_L1, any, any, Meaning::Project, "api_disabled"_L1,
            "The Gmail API is not enabled in the Google project."_L1, enableApi},
    Refusal{403, any, "SERVICE_DISABLED"_L1, any, Meaning::Project, "api_disabled"_L1,
            "The Gmail API is not enabled in the Google project."_L1, enableApi},

    Refusal{400, any, any, "Mail service not enabled"_L1, Meaning::Parked, "mail_service_not_enabled"_L1,
            "This Google account has no Gmail mailbox."_L1,
            "Have Gmail switched on for the account and resume it, or remove the account."_L1},
    Refusal{
        403, "domainPolicy"_L1, any, any, Meaning::Parked, "domain_policy"_L1,
        "The administrator of this domain has disabled Gmail apps."_L1,
        "Ask the domain's administrator to allow the app in the Admin console, then resume the account."_L1},
    Refusal{403, "insufficientPermissions"_L1, any, any, Meaning::NeedsReauth, "missing_scope"_L1,
            "The user's consent does not cover reading mail."_L1, consentAgain},
    Refusal{403, any, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"_L1, any, Meaning::NeedsReauth, "missing_scope"_L1,
            "The user's consent does not cover reading mail."_L1, consentAgain},

    // elie222/inbox-zero retries it; what it means is not documented.
    Refusal{400, any, any, "Precondition check failed"_L1, Meaning::Transient, any,
            "Gmail refused the watch without a clear cause: %1"_L1, any},
};

bool matches(const Refusal &row, int status, const ApiError &error)
{
    return row.status == status && (row.reason.isEmpty() || row.reason == error.reason)
        && (row.infoReason.isEmpty() || row.infoReason == error.infoReason)
        && (row.message.isEmpty() || error.message.contains(row.message));
}

} // namespace

std::span<const Refusal> knownRefusals()
{
    return rows;
}

const Refusal *refusalFor(int status, const ApiError &error)
{
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const Refusal &r) { return matches(r, status, error); });
    return row == rows.end() ? nullptr : &*row;
}

} // namespace watchrenewal
