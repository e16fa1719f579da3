// SPDX-License-Identifier: Apache-2.0
#include "app/renewalhealth.h"

#include "app/clockskew.h"
#include "app/part.h"

#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

const QString renewal = u"renewal"_s;
const QString accounts = u"accounts"_s;

QString duration(qint64 ms)
{
    constexpr qint64 minute = 60'000;
    constexpr qint64 hour = 60 * minute;
    if (ms >= 48 * hour)
        return u"%1 days"_s.arg(ms / (24 * hour));
    return ms >= 2 * hour ? u"%1 h"_s.arg(ms / hour) : u"%1 min"_s.arg(ms / minute);
}

/// 99.98 %; never 100 % when something is missing.
QString percent(double share)
{
    return QString::number(std::floor(share * 10'000) / 100, 'f', 2) + u" %"_s;
}

/// With nobody to renew them, accounts go on expiring: how many, and when the first does.
QString expiring(const QJsonObject &overview)
{
    const QJsonObject counts = overview["accounts"_L1].toObject();
    const qint64 active = counts["state"_L1]["active"_L1].toInteger();
    if (active == 0)
        return {};
    QString text = u" Active accounts whose watches expire meanwhile: %1"_s.arg(active);
    const qint64 nearest = counts["nearest_expiry"_L1]["expires_at"_L1].toInteger();
    const qint64 leftMs = nearest - overview["now"_L1].toInteger();
    if (nearest > 0)
        text += leftMs > 0 ? u", the first in %1"_s.arg(duration(leftMs)) : u", the first has lapsed"_s;
    return text + u'.';
}

void addProvider(QJsonArray &parts, const QJsonObject &overview)
{
    const QJsonObject status = overview["renewal"_L1].toObject();
    if (!status["has_provider"_L1].toBool()) {
        parts.append(part(renewal, false, true, u"no_provider"_s,
                          u"Nothing renews watches: no running plugin is a provider. Enable watch-renewal."_s
                              + expiring(overview)));
        return;
    }
    if (status["mode"_L1] != "observe"_L1)
        return;
    const QString reason = status["mode_reason"_L1].toString();
    parts.append(part(renewal, false, true, u"observing"_s,
                      (reason.isEmpty() ? u"Nothing is renewed: plugins.watch-renewal.mode is \"observe\"."_s
                                        : u"Nothing is renewed: "_s + reason)
                          + expiring(overview)));
}

void addScan(QJsonArray &parts, const QJsonObject &overview)
{
    const QJsonObject scan = overview["scan"_L1].toObject();
    const QString id = scan["schedule"_L1].toString();
    if (!scan["scheduled"_L1].toBool()) {
        parts.append(part(renewal, false, true, u"scan_not_scheduled"_s,
                          u"There is no schedule that looks for due accounts: \"%1\" is missing. Restart the "
                          u"engine; its log says why the schedule was refused."_s.arg(id)));
        return;
    }
    if (scan["paused"_L1].toBool()) {
        parts.append(part(renewal, false, true, u"scan_paused"_s,
                          u"The scan for due accounts is paused: tidekeeper schedules resume %1."_s.arg(id)));
        return;
    }
    if (const QString error = overview["renewal"_L1]["last_scan"_L1]["error"_L1].toString(); !error.isEmpty())
        parts.append(part(renewal, false, true, u"scan_failed"_s, error));
    const qint64 lastAt = std::max(scan["last_at"_L1].toInteger(), overview["started_at"_L1].toInteger());
    const qint64 sinceMs = overview["now"_L1].toInteger() - lastAt;
    if (sinceMs > staleScanIntervals * scan["interval_ms"_L1].toInteger())
        parts.append(part(renewal, false, true, u"scan_stale"_s,
                          u"No scan for due accounts has succeeded for %1: nobody new is renewed. See "
                          u"tidekeeper schedules show %2 and tidekeeper queue jobs --queue renew."_s.arg(
                              duration(sinceMs), id)));
}

void addStops(QJsonArray &parts, const QJsonObject &status)
{
    for (const QJsonValue breaker : status["breakers"_L1].toArray())
        parts.append(part(renewal, false, false, breaker["code"_L1].toString(),
                          breaker["text"_L1].toString() + u' ' + breaker["remedy"_L1].toString()));
    for (const QJsonValue wave : status["waves"_L1].toArray())
        parts.append(part(
            renewal, false, true, u"wave_open"_s,
            u"Many accounts of project \"%1\", client \"%2\", fail in the same way (%3): %4 None of them is "
            u"given up meanwhile. If their grants are really lost, say so: tidekeeper accounts wave "
            u"confirm %5."_s
                .arg(wave["project"_L1].toString(), wave["client"_L1].toString(), wave["code"_L1].toString(),
                     wave["text"_L1].toString())
                .arg(wave["id"_L1].toInteger())));
    for (const QJsonValue pause : status["pauses"_L1].toArray())
        parts.append(
            part(renewal, false, true, u"project_paused"_s,
                 u"Most calls of project \"%1\" fail for a while, so its renewals pause; one is tried "
                 u"each minute. They go on by themselves: %2"_s
                     .arg(pause["project"_L1].toString(), pause["text"_L1].toString())
                     .trimmed()));
    const QJsonObject capacity = status["capacity"_L1].toObject();
    if (!capacity["holds"_L1].toBool(true))
        parts.append(part(renewal, false, true, u"capacity_insufficient"_s, capacity["text"_L1].toString()));
}

void addAccount(QJsonArray &parts, bool ok, const QString &code, qint64 count, const QString &text)
{
    if (count > 0)
        parts.append(part(accounts, ok, true, code, text.arg(count)));
}

void addAccounts(QJsonArray &parts, const QJsonObject &overview)
{
    const QJsonObject counts = overview["accounts"_L1].toObject();
    const QJsonValue bands = counts["active_band"_L1];
    const QJsonValue states = counts["state"_L1];
    const qsizetype before = parts.size();
    addAccount(
        parts, false, u"accounts_lapsed"_s, bands["expired"_L1].toInteger(),
        u"Active accounts whose watch has lapsed: %1. See tidekeeper accounts list --band expired, and "
        u"tidekeeper accounts explain for the reason of one."_s);
    addAccount(
        parts, false, u"accounts_without_watch"_s, counts["without_watch"_L1].toInteger(),
        u"Active accounts that for an hour have not got their first watch: %1. See tidekeeper accounts "
        u"list --band none."_s);
    addAccount(parts, false, u"accounts_critical"_s, bands["critical"_L1].toInteger(),
               u"Active accounts whose watch lapses within a day: %1. See tidekeeper accounts list "
               u"--band critical."_s);
    addAccount(
        parts, true, u"accounts_late"_s, bands["late"_L1].toInteger(),
        u"Active accounts that should have been renewed days ago, or came with little time left: %1."_s);
    addAccount(parts, false, u"accounts_parked"_s, states["parked"_L1].toInteger(),
               u"Accounts that are not renewed until somebody looks: %1. See tidekeeper accounts list "
               u"--state parked."_s);
    addAccount(
        parts, true, u"accounts_need_reauth"_s, states["needs_reauth"_L1].toInteger(),
        u"Accounts whose owners have to sign in again: %1. Each was told as account.reauth_required."_s);
    const qint64 dueAt = counts["oldest_due_at"_L1].toInteger();
    const qint64 dueForMs = dueAt > 0 ? overview["now"_L1].toInteger() - dueAt : 0;
    if (dueForMs > overdueTooLongMs)
        parts.append(part(accounts, false, true, u"renewals_overdue"_s,
                          u"The account that waits longest has been due for %1. See tidekeeper accounts list "
                          u"--sort expires_at."_s.arg(duration(dueForMs))));
    if (parts.size() == before && !counts.isEmpty())
        parts.append(sound(accounts, u"Nothing about the accounts needs a person."_s));
}

/// A complete day is sound, whatever happened before: nobody can mend the past.
void addCoverage(QJsonArray &parts, const QJsonObject &coverage)
{
    const double day = coverage["share_24h"_L1].toDouble(1);
    const double month = coverage["share"_L1].toDouble(1);
    if (day < 1)
        parts.append(
            part(u"coverage"_s, false, true, u"coverage_incomplete"_s,
                 u"In the last 24 h accounts had a live watch for %1 of their time, in 30 days for %2. "
                 u"Each lapse is in the timeline of its account as account.lapsed and watch.gap."_s.arg(
                     percent(day), percent(month))));
    else
        parts.append(sound(u"coverage"_s,
                           month < 1 ? u"Complete for 24 h; %1 in 30 days."_s.arg(percent(month))
                                     : u"In 30 days no active account was without a live watch."_s));
}

void addClocks(QJsonArray &parts, const QJsonObject &skews)
{
    for (auto skew = skews.begin(); skew != skews.end(); ++skew) {
        const qint64 ms = skew->toInteger();
        if (std::abs(ms) <= ClockSkew::tolerableMs)
            continue;
        const QString ours = skew.key() == "redis"_L1 ? u"This machine's clock"_s : u"The clock of Redis"_s;
        parts.append(
            part(u"clock"_s, false, true, u"clock_skew"_s,
                 u"%1 is %2 s %3 that of %4. Have their machines synchronise their time (NTP)."_s.arg(
                     ours, QString::number(double(std::abs(ms)) / 1'000, 'f', 1),
                     ms > 0 ? u"ahead of"_s : u"behind"_s, skew.key())));
    }
}

void addPushes(QJsonArray &parts, const QJsonObject &pushes)
{
    if (pushes["path_broken"_L1].toBool())
        parts.append(part(u"pushes"_s, false, true, u"push_path_broken"_s, pushes["text"_L1].toString()));
    else if (pushes["on"_L1].toBool())
        parts.append(sound(u"pushes"_s, pushes["text"_L1].toString()));
}

} // namespace

QJsonArray renewalParts(const QJsonObject &overview)
{
    QJsonArray parts;
    addProvider(parts, overview);
    addScan(parts, overview);
    addStops(parts, overview["renewal"_L1].toObject());
    if (parts.isEmpty())
        parts.append(sound(renewal, u"Accounts are scanned and renewed."_s));
    addAccounts(parts, overview);
    addCoverage(parts, overview["coverage"_L1].toObject());
    addClocks(parts, overview["clock_skew_ms"_L1].toObject());
    addPushes(parts, overview["pushes"_L1].toObject());
    for (const QJsonValue hint : overview["hints"_L1].toArray())
        parts.append(part(u"grants"_s, false, true, hint["code"_L1].toString(), hint["text"_L1].toString()));
    return parts;
}

} // namespace tidekeeper::app
