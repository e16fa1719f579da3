// SPDX-License-Identifier: Apache-2.0
#include "google/control/controlapi.h"

#include <algorithm>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

QJsonObject counted(const QHash<QString, qint64> &counts)
{
    QJsonObject object;
    for (auto count = counts.cbegin(); count != counts.cend(); ++count)
        object.insert(count.key(), count.value());
    return object;
}

QJsonObject byStatus(const QMap<int, qint64> &counts)
{
    QJsonObject object;
    for (auto count = counts.cbegin(); count != counts.cend(); ++count)
        object.insert(QString::number(count.key()), count.value());
    return object;
}

QJsonObject usageOf(Usage &usage, qint64 nowUs)
{
    return {
        {u"calls"_s, usage.calls},
        {u"calls_by_method"_s, counted(usage.callsByMethod)},
        {u"refused"_s, usage.refused},
        {u"refused_by"_s, counted(usage.refusedBy)},
        {u"refused_units"_s, usage.refusedUnits},
        {u"units"_s, usage.units},
        {u"units_last_60s"_s, usage.minute.sum(nowUs)},
        {u"units_worst_60s"_s, usage.minute.worst()},
    };
}

QJsonObject watchOf(const Watch &watch)
{
    return {{u"topic"_s, watch.topic},
            {u"label_ids"_s, QJsonArray::fromStringList(watch.labelIds)},
            {u"set_at"_s, watch.setAtMs},
            {u"expires_at"_s, watch.expiresAtMs}};
}

QJsonObject accountOf(const World &world, User &user)
{
    const qint64 nowMs = world.clock.wallMs();
    QJsonArray watches;
    for (const Watch &watch : user.watches)
        watches.append(watchOf(watch));
    QJsonArray stops;
    for (const qint64 at : user.stopsMs)
        stops.append(at);
    const bool lapsed = user.watch && !user.watching(nowMs);
    QJsonObject account = usageOf(user.usage, world.clock.monotonicUs());
    account.insert(u"email"_s, user.email);
    account.insert(u"project_id"_s, user.project->id);
    account.insert(u"history_id"_s, QString::number(user.mailbox->historyId()));
    account.insert(u"units_worst_18s"_s, user.usage.burst.worst());
    account.insert(u"in_flight"_s, user.usage.inFlight);
    account.insert(u"in_flight_worst"_s, user.usage.worstInFlight);
    account.insert(u"watch"_s, user.watch ? QJsonValue(watchOf(*user.watch)) : QJsonValue());
    account.insert(u"watch_expires_at"_s, user.watch ? user.watch->expiresAtMs : 0);
    account.insert(u"watches"_s, watches);
    account.insert(u"stops"_s, stops);
    account.insert(u"pushes_sent"_s, user.pushesSent);
    account.insert(u"pushes_acknowledged"_s, user.pushesAcknowledged);
    account.insert(u"lapsed"_s, lapsed);
    account.insert(u"lapses"_s, user.lapses + (lapsed ? 1 : 0));
    account.insert(u"lapsed_ms"_s, user.lapsedMs + (lapsed ? nowMs - user.watch->expiresAtMs : 0));
    return account;
}

QJsonArray projectsOf(const World &world)
{
    QJsonArray list;
    for (const auto &[id, project] : world.projects) {
        const Limits limits = world.limitsOf(*project);
        QJsonObject item = usageOf(project->usage, world.clock.monotonicUs());
        item.insert(u"project_id"_s, id);
        item.insert(u"number"_s, project->number);
        item.insert(u"preset"_s, toString(world.presetOf(*project)));
        item.insert(u"user_limit_per_minute"_s, limits.userPerMinute);
        item.insert(u"project_limit_per_minute"_s, limits.projectPerMinute);
        list.append(item);
    }
    return list;
}

QJsonObject totalsOf(const World &world)
{
    const qint64 nowMs = world.clock.wallMs();
    qint64 calls = 0;
    qint64 refused = 0;
    qint64 units = 0;
    qint64 worst = 0;
    qint64 lapses = 0;
    qint64 watching = 0;
    for (const auto &[key, user] : world.users) {
        calls += user->usage.calls;
        refused += user->usage.refused;
        units += user->usage.units;
        worst = std::max(worst, user->usage.minute.worst());
        watching += user->watching(nowMs) ? 1 : 0;
        lapses += user->lapses + (user->watch && !user->watching(nowMs) ? 1 : 0);
    }
    return {
        {u"accounts"_s, qint64(world.users.size())},
        {u"watching"_s, watching},
        {u"lapses"_s, lapses},
        {u"calls"_s, calls},
        {u"refused"_s, refused},
        {u"units"_s, units},
        {u"user_units_worst_60s"_s, worst},
        {u"watches"_s, world.totals.watches},
        {u"stops"_s, world.totals.stops},
        {u"tokens_issued"_s, world.totals.tokensIssued},
        {u"token_errors"_s, world.totals.tokenErrors},
        {u"fcm_accepted"_s, world.totals.fcmAccepted},
        {u"fcm_refused"_s, world.totals.fcmRefused},
        {u"pushes_sent"_s, world.totals.pushesSent},
        {u"pushes_acknowledged"_s, world.totals.pushesAcknowledged},
        {u"pushes_refused"_s, world.totals.pushesRefused},
        {u"pushes_suppressed"_s, world.totals.pushesSuppressed},
        {u"push_refusals_by_status"_s, byStatus(world.totals.pushRefusalsByStatus)},
        {u"answers_by_status"_s, byStatus(world.totals.answersByStatus)},
    };
}

QJsonArray devicesOf(const World &world)
{
    QJsonArray list;
    for (const auto &[token, device] : world.devices)
        list.append(QJsonObject{{u"token"_s, token},
                                {u"project_id"_s, device.projectId},
                                {u"platform"_s, device.platform},
                                {u"registered"_s, device.registered},
                                {u"messages"_s, device.messages}});
    return list;
}

QJsonArray messagesOf(const World &world)
{
    QJsonArray list;
    for (const Delivery &delivery : world.deliveries)
        list.append(QJsonObject{{u"at"_s, delivery.atMs},
                                {u"project_id"_s, delivery.projectId},
                                {u"message"_s, delivery.message}});
    return list;
}

} // namespace

QJsonObject stateOf(World &world, const QStringList &emails, bool withAccounts)
{
    QJsonObject state{
        {u"now"_s, world.clock.wallMs()}, {u"settings"_s, world.settings.toJson()},
        {u"totals"_s, totalsOf(world)},   {u"projects"_s, projectsOf(world)},
        {u"devices"_s, devicesOf(world)}, {u"messages"_s, messagesOf(world)},
    };
    if (!withAccounts)
        return state;
    QJsonArray accounts;
    for (const auto &[key, user] : world.users) {
        if (emails.isEmpty() || emails.contains(user->email))
            accounts.append(accountOf(world, *user));
    }
    state.insert(u"accounts"_s, accounts);
    return state;
}

} // namespace tidekeeper::googlesim
