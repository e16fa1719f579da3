// SPDX-License-Identifier: Apache-2.0
#include "google/faults/kinds.h"

#include "google/fcm/errors.h"
#include "google/gmail/errors.h"
#include "google/oauth/errors.h"
#include "google/world/world.h"

#include <QtCore/QDateTime>

#include <algorithm>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

using MaybeAnswer = std::optional<Answer>;
using Stage = Faults::Stage;

bool isToken(const Subject &subject)
{
    return subject.method.startsWith(u"token."_s);
}

MaybeAnswer serverError(Fault &fault, const Subject &subject, World &)
{
    if (isToken(subject))
        return errors::token(fault.status, u"internal_failure"_s, u"Backend Error"_s);
    if (subject.method.startsWith(u"fcm."_s)) {
        return fault.status == 503
            ? errors::fcm(503, u"UNAVAILABLE"_s, u"The service is currently unavailable."_s, u"UNAVAILABLE"_s,
                          fault.retryAfterS)
            : errors::fcm(fault.status, u"INTERNAL"_s, u"Internal error encountered."_s, u"INTERNAL"_s,
                          fault.retryAfterS);
    }
    return errors::backendError(fault.status);
}

MaybeAnswer givenAnswer(Fault &fault, const Subject &, World &)
{
    Answer answer;
    answer.status = fault.status;
    answer.body = fault.body;
    if (!fault.text.isEmpty())
        answer.contentType = fault.text.toLatin1();
    if (fault.retryAfterS >= 0)
        answer.headers.append({"Retry-After", QByteArray::number(fault.retryAfterS)});
    return answer;
}

MaybeAnswer revoked(Fault &, const Subject &subject, World &)
{
    return isToken(subject) ? errors::revokedGrant() : errors::invalidCredentials();
}

Answer minuteUsedUp(errors::Scope scope, const Subject &subject, World &world)
{
    const auto project = world.project(subject.projectId);
    const Limits limits = world.limitsOf(*project);
    return errors::unitsExhausted(
        scope, world.presetOf(*project),
        scope == errors::Scope::User ? limits.userPerMinute : limits.projectPerMinute, project->number);
}

MaybeAnswer userMinuteUsedUp(Fault &, const Subject &subject, World &world)
{
    return minuteUsedUp(errors::Scope::User, subject, world);
}

MaybeAnswer projectMinuteUsedUp(Fault &, const Subject &subject, World &world)
{
    return minuteUsedUp(errors::Scope::Project, subject, world);
}

MaybeAnswer scopeMissing(Fault &, const Subject &subject, World &)
{
    return errors::insufficientScope(subject.method);
}

MaybeAnswer apiOff(Fault &, const Subject &subject, World &world)
{
    return errors::apiDisabled(world.project(subject.projectId)->number);
}

MaybeAnswer topicForbids(Fault &, const Subject &subject, World &)
{
    return errors::topicForbidden(subject.topic);
}

MaybeAnswer topicGone(Fault &, const Subject &subject, World &)
{
    return errors::topicMissing(subject.topic);
}

MaybeAnswer fcmQuota(Fault &fault, const Subject &, World &)
{
    return errors::fcmQuotaExceeded(fault.retryAfterS);
}

/// The first call starts a lock-out; each call before its end is refused too and starts it anew; the first call after
/// its end passes, and the mailbox is left in peace from then on.
MaybeAnswer lockOut(Fault &fault, const Subject &subject, World &world)
{
    const qint64 nowUs = world.clock.monotonicUs();
    const auto found = fault.lockedUntilUs.find(subject.email);
    if (found != fault.lockedUntilUs.end() && *found <= nowUs) {
        *found = 0;
        return std::nullopt;
    }
    const qint64 lengthMs = fault.minutes * 60'000;
    fault.lockedUntilUs[subject.email] = nowUs + lengthMs * 1000;
    const QDateTime until = QDateTime::fromMSecsSinceEpoch(world.clock.wallMs() + lengthMs, Qt::UTC);
    return errors::retryAfter(until.toString(Qt::ISODateWithMs), fault.text);
}

const QStringList &everything()
{
    static const QStringList list{u"*"_s};
    return list;
}
const QStringList &tokens()
{
    static const QStringList list{u"token.*"_s};
    return list;
}
const QStringList &gmailCalls()
{
    static const QStringList list{u"gmail.*"_s};
    return list;
}
const QStringList &watchCalls()
{
    static const QStringList list{u"gmail.users.watch"_s};
    return list;
}
const QStringList &fcmCalls()
{
    static const QStringList list{u"fcm.*"_s};
    return list;
}

Kind::MakeAnswer always(const Answer &answer)
{
    return [answer](Fault &, const Subject &, World &) -> MaybeAnswer { return answer; };
}

std::vector<Kind> generalKinds()
{
    return {
        {u"error"_s, Stage::Failure, everything(), serverError},
        {u"answer"_s, Stage::Failure, everything(), givenAnswer},
        {u"slow"_s, Stage::Delivery, everything(), nullptr},
        {u"silent"_s, Stage::Delivery, everything(), nullptr},
        {u"cut"_s, Stage::Delivery, everything(), nullptr},
        {u"user_limit"_s, Stage::Limit, gmailCalls(), nullptr},
        {u"project_limit"_s, Stage::Limit, gmailCalls(), nullptr},
        {u"concurrency_cap"_s, Stage::Limit, gmailCalls(), nullptr},
        {u"revoked"_s, Stage::Access, {u"token.*"_s, u"gmail.*"_s}, revoked},
    };
}

std::vector<Kind> tokenKinds()
{
    const auto kind = [](const QString &name, Kind::MakeAnswer answer) {
        return Kind{name, Stage::Failure, tokens(), answer};
    };
    using errors::token;
    return {
        kind(u"wrong_client_secret"_s, always(errors::wrongClientSecret())),
        kind(u"client_not_found"_s, always(errors::unknownClient())),
        kind(u"deleted_client"_s,
             always(token(401, u"deleted_client"_s, u"The OAuth client was deleted."_s))),
        kind(u"unauthorized_client"_s, always(errors::notDelegated())),
        kind(u"invalid_grant"_s, always(token(400, u"invalid_grant"_s, u"Bad Request"_s))),
        kind(u"account_deleted"_s, always(token(400, u"invalid_grant"_s, u"Account has been deleted"_s))),
        kind(u"invalid_rapt"_s,
             always(token(400, u"invalid_grant"_s, u"reauth related error (invalid_rapt)"_s,
                          u"invalid_rapt"_s))),
        kind(u"invalid_scope"_s,
             always(token(400, u"invalid_scope"_s, u"Some requested scopes were invalid. {invalid=[]}"_s))),
        kind(u"admin_policy_enforced"_s, always(token(400, u"admin_policy_enforced"_s))),
        kind(u"access_denied"_s, always(token(403, u"access_denied"_s, u"Account restricted"_s))),
        kind(u"token_rate_limit"_s, always(token(429, u"rate_limit_exceeded"_s))),
        kind(u"token_server_error"_s, always(token(500, u"server_error"_s))),
        kind(u"token_unavailable"_s, always(token(503, u"temporarily_unavailable"_s))),
    };
}

std::vector<Kind> gmailKinds()
{
    using namespace errors;
    return {
        {u"unauthorized"_s, Stage::Access, gmailCalls(), always(invalidCredentials())},
        {u"insufficient_scope"_s, Stage::Access, gmailCalls(), scopeMissing},
        {u"api_disabled"_s, Stage::Access, gmailCalls(), apiOff},
        {u"domain_policy"_s, Stage::Access, gmailCalls(), always(domainPolicy())},
        {u"user_rate"_s, Stage::Rate, gmailCalls(), userMinuteUsedUp},
        {u"project_rate"_s, Stage::Rate, gmailCalls(), projectMinuteUsedUp},
        {u"concurrent"_s, Stage::Rate, gmailCalls(), always(tooManyConcurrent())},
        {u"lockout"_s, Stage::Rate, gmailCalls(), lockOut},
        {u"exhausted"_s, Stage::Rate, gmailCalls(), always(exhausted())},
        {u"daily_limit"_s, Stage::Rate, gmailCalls(), always(dailyLimit())},
        {u"mail_service_off"_s, Stage::Failure, gmailCalls(),
         always(failedPrecondition(u"Mail service not enabled"_s))},
        {u"precondition_failed"_s, Stage::Failure, gmailCalls(),
         always(failedPrecondition(u"Precondition check failed."_s))},
        {u"topic_forbidden"_s, Stage::Failure, watchCalls(), topicForbids},
        {u"topic_missing"_s, Stage::Failure, watchCalls(), topicGone},
        {u"other_watch"_s, Stage::Failure, watchCalls(), always(otherWatchActive())},
        {u"history_expired"_s, Stage::Failure, {u"gmail.users.history.list"_s}, always(notFound())},
    };
}

std::vector<Kind> fcmKinds()
{
    const auto kind = [](const QString &name, Kind::MakeAnswer answer) {
        return Kind{name, Stage::Failure, fcmCalls(), answer};
    };
    using namespace errors;
    return {
        kind(u"fcm_unregistered"_s, always(fcmUnregistered())),
        kind(u"fcm_not_found"_s, always(fcm(404, u"NOT_FOUND"_s, u"Requested entity was not found."_s, {}))),
        kind(u"fcm_invalid_token"_s, always(fcmInvalidToken())),
        kind(u"fcm_sender_id_mismatch"_s, always(fcmSenderIdMismatch())),
        kind(u"fcm_third_party_auth"_s,
             always(fcm(401, u"UNAUTHENTICATED"_s, u"Auth error from APNS or Web Push Service"_s,
                        u"THIRD_PARTY_AUTH_ERROR"_s))),
        kind(
            u"fcm_unauthorized"_s,
            always(fcm(401, u"UNAUTHENTICATED"_s, u"Request had invalid authentication credentials."_s, {}))),
        kind(u"fcm_quota"_s, fcmQuota),
    };
}

std::vector<Kind> pushKinds()
{
    return {{u"no_push"_s, Stage::Push, {u"pubsub.push"_s}, always(Answer::empty())}};
}

} // namespace

const std::vector<Kind> &kinds()
{
    static const std::vector<Kind> all = [] {
        std::vector<Kind> list;
        for (const auto &group : {generalKinds(), tokenKinds(), gmailKinds(), fcmKinds(), pushKinds()})
            list.insert(list.end(), group.begin(), group.end());
        return list;
    }();
    return all;
}

const Kind *findKind(const QString &name)
{
    const auto found =
        std::find_if(kinds().begin(), kinds().end(), [&](const Kind &kind) { return kind.name == name; });
    return found == kinds().end() ? nullptr : &*found;
}

} // namespace tidekeeper::googlesim
