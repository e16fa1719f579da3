// SPDX-License-Identifier: Apache-2.0
#include "store/accountchange.h"

#include "core/planner.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

using core::AccountState;
using core::GrantKind;

const QString gmailProvider = u"gmail"_s;

namespace {

constexpr auto historyIdKey = "history_id"_L1;

enum class Way : quint8 { Create, Put, Patch };

/// What a change of the account means for its subscriptions.
struct Effects {
    bool otherMailbox = false;
    bool otherProject = false;
    bool newGrant = false;
    bool cameBack = false; ///< into the selection, from a state that only a person or a new grant ends
};

bool hasLiveGrant(const core::Account &account)
{
    return account.hasRefreshToken || account.grantKind == GrantKind::Http
        || account.grantKind == GrantKind::Delegated;
}

tl::unexpected<Error> refused(const QString &text, AccountState state)
{
    return fail(u"conflict"_s, text, {{u"state"_s, core::toString(state)}});
}

// By hand an account is only paused, resumed and sent away; the other states are findings of the renewal.
Result<> mayBecome(const core::Account &account, AccountState to)
{
    const AccountState from = account.state;
    if (from == to || to == AccountState::Leaving)
        return {};
    if (to == AccountState::Paused && from != AccountState::Active) {
        return refused(
            u"The account is not renewed anyway while it is %1. Only an active one can be paused."_s.arg(
                core::toString(from)),
            from);
    }
    if (to == AccountState::Active && from == AccountState::NeedsReauth && !hasLiveGrant(account))
        return refused(u"The account's grant is gone. PUT or PATCH it with a new refresh_token."_s, from);
    return {};
}

template<typename T>
bool assign(T &field, const std::optional<T> &value)
{
    if (!value || *value == field)
        return false;
    field = *value;
    return true;
}

// True when the account can be renewed in a way that it could not before.
bool applyGrant(Changed &changed, const GrantChange &grant)
{
    core::Account &account = changed.row.account;
    if (grant.kind == GrantChange::Kind::Keep)
        return false;
    const bool remove = grant.kind == GrantChange::Kind::Remove;
    if (remove && grant.grantKind == GrantKind::Stored && account.grantKind != GrantKind::Stored)
        return false;
    const GrantKind kind = remove ? GrantKind::None : grant.grantKind;
    const QString fingerprint = kind == GrantKind::Stored ? grant.fingerprint : QString();
    const bool same = account.grantKind == kind && account.grant == grant.grant
        && account.hasRefreshToken == (kind == GrantKind::Stored)
        && changed.row.grantFingerprint == fingerprint;
    if (same)
        return false;
    account.grantKind = kind;
    account.grant = grant.grant;
    account.hasRefreshToken = kind == GrantKind::Stored;
    changed.row.grantFingerprint = fingerprint;
    changed.account = changed.grant = true;
    return !remove;
}

void makeDue(core::Subscription &subscription, qint64 nowMs)
{
    subscription.nextTargetAt = nowMs;
    subscription.nextAttemptAt = 0;
}

void forgetFailures(core::Subscription &subscription)
{
    subscription.attempts = 0;
    subscription.deferrals = 0;
    subscription.errorClass.clear();
    subscription.errorCode.clear();
    subscription.errorText.clear();
    subscription.errorAt = 0;
}

// Another mailbox, or the same one in another project: what was watched until now says nothing about it.
void forgetWatch(core::Subscription &subscription, qint64 nowMs)
{
    subscription.expiresAt = 0;
    subscription.lastSuccessAt = 0;
    subscription.externalId.clear();
    forgetFailures(subscription);
    makeDue(subscription, nowMs);
}

void setHistoryId(core::Subscription &subscription, const QString &historyId)
{
    if (historyId.isEmpty())
        subscription.data.remove(historyIdKey);
    else
        subscription.data.insert(historyIdKey, historyId);
}

/// True when a watch that is alive asks for something else than the next one will.
bool setWatchData(core::Subscription &gmail, const QJsonObject &watchData)
{
    const QJsonObject before = gmail.data;
    for (auto it = watchData.begin(); it != watchData.end(); ++it) {
        if (it->isNull())
            gmail.data.remove(it.key());
        else
            gmail.data.insert(it.key(), *it);
    }
    return gmail.data != before && gmail.lastSuccessAt > 0;
}

void applyToGmail(core::Subscription &gmail, const AccountChange &change, qint64 nowMs)
{
    if (change.watchExpiresAt) {
        const qint64 expiresAt = std::max<qint64>(0, *change.watchExpiresAt);
        if (expiresAt != gmail.expiresAt) {
            gmail.expiresAt = expiresAt;
            gmail.nextTargetAt = core::firstTarget(gmail.account, expiresAt, nowMs);
        }
    }
    if (change.historyId)
        setHistoryId(gmail, *change.historyId);
    // Only a new watch carries a new filter or topic. A back-off stays: it may be a rate answer's.
    if (setWatchData(gmail, change.watchData))
        gmail.nextTargetAt = std::min(gmail.nextTargetAt, nowMs);
}

bool sameSubscription(const core::Subscription &a, const core::Subscription &b)
{
    return a.externalId == b.externalId && a.expiresAt == b.expiresAt && a.lastSuccessAt == b.lastSuccessAt
        && a.nextTargetAt == b.nextTargetAt && a.nextAttemptAt == b.nextAttemptAt && a.attempts == b.attempts
        && a.deferrals == b.deferrals && a.errorClass == b.errorClass && a.errorCode == b.errorCode
        && a.errorText == b.errorText && a.data == b.data;
}

// The state asked for; else active when a new grant gives the renewal another chance, or a PUT calls back an account
// that was leaving.
void applyState(Changed &changed, const AccountChange &change, bool revived)
{
    core::Account &account = changed.row.account;
    std::optional<AccountState> wanted = change.state;
    if (!wanted && revived)
        wanted = AccountState::Active;
    if (!wanted || *wanted == account.state)
        return;
    account.state = *wanted;
    account.stateReason = change.stateReason.value_or(QString());
    changed.account = true;
}

bool cameBack(AccountState before, AccountState after)
{
    return after == AccountState::Active
        && (before == AccountState::Parked || before == AccountState::NeedsReauth
            || before == AccountState::Leaving);
}

void applyToSubscription(core::Subscription &subscription, const AccountChange &change,
                         const Effects &effects, qint64 nowMs)
{
    const bool gmail = subscription.provider == gmailProvider;
    if (effects.otherMailbox && gmail)
        setHistoryId(subscription, QString());
    if (effects.otherMailbox || effects.otherProject)
        forgetWatch(subscription, nowMs);
    if (gmail)
        applyToGmail(subscription, change, nowMs);
    if (effects.newGrant)
        forgetFailures(subscription);
    if (effects.newGrant || effects.cameBack)
        makeDue(subscription, nowMs);
}

Effects applyToAccount(Changed &changed, const AccountChange &change, Way way)
{
    core::Account &account = changed.row.account;
    const AccountState before = account.state;
    Effects effects;
    effects.otherMailbox = assign(account.email, change.email);
    effects.otherProject = assign(account.project, change.project);
    const bool otherClient = assign(account.client, change.client);
    const bool otherLanguage = assign(account.language, change.language);
    changed.account = effects.otherMailbox || effects.otherProject || otherClient || otherLanguage;
    effects.newGrant = applyGrant(changed, change.grant);
    applyState(changed, change, effects.newGrant || (way == Way::Put && before == AccountState::Leaving));
    effects.cameBack = cameBack(before, account.state);
    return effects;
}

Result<Changed> appliedTo(const AccountRow &before, const AccountChange &change, Way way, qint64 nowMs)
{
    const AccountState state = before.account.state;
    if (way == Way::Patch && state == AccountState::Leaving && change.state != AccountState::Leaving)
        return refused(u"The account is being removed. PUT it again to keep it."_s, state);
    if (change.state) {
        if (Result<> allowed = mayBecome(before.account, *change.state); !allowed)
            return fail(allowed.error());
    }
    Changed changed{before};
    Effects effects = applyToAccount(changed, change, way);
    if (way == Way::Create)
        effects = {}; // nothing was there before; the first target is spread, not now
    for (core::Subscription &subscription : changed.row.subscriptions)
        applyToSubscription(subscription, change, effects, nowMs);
    changed.subscriptions = way == Way::Create
        || !std::equal(before.subscriptions.begin(), before.subscriptions.end(),
                       changed.row.subscriptions.begin(), sameSubscription);
    changed.account |= way == Way::Create;
    if (changed.account)
        changed.row.account.updatedAt = nowMs;
    return changed;
}

AccountRow newAccountRow(const QString &id, qint64 nowMs)
{
    AccountRow row;
    row.account.id = id;
    row.account.createdAt = nowMs;
    row.account.updatedAt = nowMs;
    core::Subscription gmail;
    gmail.id = gmailSubscriptionId(id);
    gmail.account = id;
    gmail.provider = gmailProvider;
    gmail.nextTargetAt = nowMs;
    row.subscriptions.append(gmail);
    return row;
}

} // namespace

QString gmailSubscriptionId(const QString &accountId)
{
    return accountId + u'/' + gmailProvider;
}

const core::Subscription *gmailSubscription(const AccountRow &row)
{
    for (const core::Subscription &subscription : row.subscriptions) {
        if (subscription.provider == gmailProvider)
            return &subscription;
    }
    return nullptr;
}

Result<Changed> created(const QString &id, const AccountChange &change, qint64 nowMs)
{
    Result<Changed> changed = appliedTo(newAccountRow(id, nowMs), change, Way::Create, nowMs);
    if (changed && change.pausedIfNew) // last: the grant that comes with it would make it active
        changed->row.account.state = AccountState::Paused;
    return changed;
}

Result<Changed> put(const AccountRow &before, const AccountChange &change, qint64 nowMs)
{
    return appliedTo(before, change, Way::Put, nowMs);
}

Result<Changed> patched(const AccountRow &before, const AccountChange &change, qint64 nowMs)
{
    return appliedTo(before, change, Way::Patch, nowMs);
}

} // namespace tidekeeper::store
