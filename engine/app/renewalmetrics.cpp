// SPDX-License-Identifier: Apache-2.0
#include "app/renewalmetrics.h"

#include "core/account.h"
#include "core/band.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

constexpr qsizetype mostCodes = 100; // codes come from plugins; beyond these they are "other"

const QString attempts = u"renewal_attempts"_s;
const QString attemptsHelp = u"Attempts to renew that ended, by class and code of their outcome."_s;
const QString renewals = u"renewals"_s;
const QString renewalsHelp = u"Renewals that succeeded."_s;
const QString lastRenewal = u"last_renewal_timestamp_seconds"_s;
const QString lastRenewalHelp = u"When this engine renewed something last; 0 = not since its start."_s;
const QString gapSeconds = u"watch_gap_seconds"_s;
const QString gapSecondsHelp = u"Time without a watch, of lapses that ended with a renewal."_s;

/// Events that are counted one by one: the type, the counter and what it says.
struct Counted {
    QString type;
    QString counter;
    QString help;
};

const QList<Counted> &countedEvents()
{
    static const QList<Counted> list{
        {u"account.lapsed"_s, u"watch_lapses"_s, u"Watches of active accounts that lapsed."_s},
        {u"watch.gap"_s, u"watch_gaps"_s, u"Lapses that ended with a renewal."_s},
        {u"renewal.lifetime_short"_s, u"lifetime_short"_s,
         u"Renewals whose watch was granted for less than 6/7 of the usual time."_s},
        {u"account.reauth_required"_s, u"grants_lost"_s,
         u"Accounts whose owner has to sign in again from then on."_s},
        {u"account.parked"_s, u"accounts_parked"_s, u"Accounts that a renewal parked."_s},
        {u"alert.watch_owned_elsewhere"_s, u"watches_owned_elsewhere"_s,
         u"Accounts parked because another environment holds their watch."_s},
        {u"alert.renewal_deferred"_s, u"renewals_deferred_long"_s,
         u"Renewals that a limit has put off for more than an hour."_s},
        {u"consent_screen_in_testing"_s, u"grants_short_lived"_s,
         u"Times that grants of a client died at the age of 7 days, as they do while its consent screen is "
         u"in "
         "testing."_s},
    };
    return list;
}

double seconds(const QJsonValue &ms)
{
    return double(ms.toInteger()) / 1'000;
}

} // namespace

/// A counter that is not there yet has no rate: all begin at 0.
RenewalMetrics::RenewalMetrics(MetricsRegistry &metrics) : m_metrics(metrics)
{
    for (const Counted &counted : countedEvents())
        m_metrics.add(counted.counter, counted.help, {}, 0);
    m_metrics.add(renewals, renewalsHelp, {}, 0);
    m_metrics.add(gapSeconds, gapSecondsHelp, {}, 0);
    m_metrics.set(lastRenewal, lastRenewalHelp, {}, 0);
}

void RenewalMetrics::attempted(const renewal::AttemptMeasure &attempt, qint64 nowMs)
{
    const QString kind = core::toString(attempt.kind);
    m_metrics.add(attempts, attemptsHelp, {{u"class"_s, kind}, {u"code"_s, codeLabel(attempt.code)}}, 1);
    m_metrics.observe(u"renewal_attempt_duration_seconds"_s,
                      u"How long attempts took: token, quota and the call."_s, {{u"class"_s, kind}},
                      double(attempt.tookMs) / 1'000);
    if (attempt.kind != core::OutcomeKind::Renewed)
        return;
    m_metrics.add(renewals, renewalsHelp, {}, 1);
    m_metrics.set(lastRenewal, lastRenewalHelp, {}, double(nowMs) / 1'000);
    if (attempt.lagMs >= 0)
        m_metrics.observeLong(u"renewal_lag_seconds"_s, u"How long after their target renewals succeeded."_s,
                              {}, double(attempt.lagMs) / 1'000);
}

void RenewalMetrics::noteEvent(const QJsonObject &event)
{
    const QString type = event["type"_L1].toString();
    for (const Counted &counted : countedEvents()) {
        if (counted.type == type)
            m_metrics.add(counted.counter, counted.help, {}, 1);
    }
    if (type == "watch.gap"_L1)
        m_metrics.add(gapSeconds, gapSecondsHelp, {},
                      double(event["to"_L1].toInteger() - event["from"_L1].toInteger()) / 1'000);
}

QString RenewalMetrics::codeLabel(const QString &code)
{
    if (m_codes.contains(code))
        return code;
    if (m_codes.size() >= mostCodes)
        return u"other"_s;
    m_codes.insert(code);
    return code;
}

void RenewalMetrics::show(const QJsonObject &overview)
{
    flag(u"database_up"_s, u"1 while the database answers."_s, overview["database"_L1]["up"_L1].toBool());
    flag(u"renewal_provider_running"_s, u"1 while a plugin runs that renews watches."_s,
         overview["renewal"_L1]["has_provider"_L1].toBool());
    // Of a database that does not answer nothing is known: what was shown last stands.
    if (const QJsonObject accounts = overview["accounts"_L1].toObject(); !accounts.isEmpty())
        showAccounts(accounts, overview["now"_L1].toInteger());
    showScan(overview["scan"_L1].toObject(), overview["renewal"_L1]["last_scan"_L1].toObject());
    showRenewal(overview["renewal"_L1].toObject());
    showCoverage(overview["coverage"_L1].toObject());
    showPushes(overview["pushes"_L1].toObject());

    QList<std::pair<QJsonObject, double>> skews;
    const QJsonObject clocks = overview["clock_skew_ms"_L1].toObject();
    for (auto it = clocks.begin(); it != clocks.end(); ++it)
        skews.append({{{u"against"_s, it.key()}}, seconds(*it)});
    m_metrics.replace(u"clock_skew_seconds"_s,
                      u"How far the clock is ahead: this machine's of Redis, Redis's of the others."_s,
                      skews);
    QList<std::pair<QJsonObject, double>> states;
    const QJsonObject plugins = overview["plugins"_L1]["states"_L1].toObject();
    for (auto it = plugins.begin(); it != plugins.end(); ++it)
        states.append({{{u"plugin"_s, it.key()}, {u"state"_s, *it}}, 1});
    m_metrics.replace(u"plugin_state"_s, u"1 for the state that a plugin is in."_s, states);
    QList<std::pair<QJsonObject, double>> problems;
    for (const QJsonValue &problem : overview["problems"_L1].toArray())
        problems.append({{{u"part"_s, problem["name"_L1]}, {u"code"_s, problem["code"_L1]}}, 1});
    m_metrics.replace(u"problem"_s, u"1 for each part that needs attention, with its code."_s, problems);
}

void RenewalMetrics::showAccounts(const QJsonObject &accounts, qint64 nowMs)
{
    for (const QString &state : core::accountStateNames())
        m_metrics.set(u"accounts"_s, u"Accounts by state."_s, {{u"state"_s, state}},
                      accounts["state"_L1][state].toDouble());
    for (const QString &band : core::bandNames()) {
        m_metrics.set(u"active_subscriptions"_s, u"Subscriptions of active accounts by band."_s,
                      {{u"band"_s, band}}, accounts["active_band"_L1][band].toDouble());
        for (const QString &state : core::accountStateNames())
            m_metrics.set(u"subscriptions"_s, u"Subscriptions by state of their account and band."_s,
                          {{u"state"_s, state}, {u"band"_s, band}},
                          accounts["state_band"_L1][state][band].toDouble());
    }
    m_metrics.set(u"nearest_expiry_timestamp_seconds"_s, u"When the next active watch lapses; 0 = none."_s,
                  {}, seconds(accounts["nearest_expiry"_L1]["expires_at"_L1]));
    m_metrics.set(u"due_subscriptions"_s, u"Subscriptions that are due now."_s, {},
                  accounts["due"_L1].toDouble());
    const qint64 oldestDueMs = accounts["oldest_due_at"_L1].toInteger();
    m_metrics.set(u"oldest_overdue_seconds"_s,
                  u"How long the subscription that is due longest has been due; 0 = none is due."_s, {},
                  oldestDueMs > 0 ? double(nowMs - oldestDueMs) / 1'000 : 0);
}

void RenewalMetrics::showScan(const QJsonObject &scan, const QJsonObject &lastHere)
{
    m_metrics.set(u"last_scan_timestamp_seconds"_s,
                  u"When a scan for due accounts succeeded last, in any engine; 0 = never."_s, {},
                  seconds(scan["last_at"_L1]));
    m_metrics.set(u"scan_duration_seconds"_s, u"How long this engine's last scan took."_s, {},
                  seconds(lastHere["took_ms"_L1]));
    m_metrics.set(u"scan_interval_seconds"_s, u"How often the scan is to run."_s, {},
                  seconds(scan["interval_ms"_L1]));
    flag(u"scan_paused"_s, u"1 while an operator has paused the scan for due accounts."_s,
         scan["paused"_L1].toBool());
    flag(u"scan_scheduled"_s, u"1 while there is a schedule for the scan for due accounts."_s,
         scan["scheduled"_L1].toBool());
    flag(u"scan_failed"_s, u"1 when this engine's last scan failed."_s,
         !lastHere["error"_L1].toString().isEmpty());
}

void RenewalMetrics::showRenewal(const QJsonObject &renewal)
{
    flag(u"observe_mode"_s, u"1 while due accounts are shown and nothing is renewed."_s,
         renewal["mode"_L1] == "observe"_L1);
    const auto size = [&](const QString &key) { return double(renewal[key].toArray().size()); };
    m_metrics.set(u"breakers_open"_s, u"Faults of configuration that stop renewals."_s, {},
                  size(u"breakers"_s));
    m_metrics.set(u"waves_open"_s,
                  u"Waves of grants that seem lost and wait for a person or their recovery."_s, {},
                  size(u"waves"_s));
    m_metrics.set(u"paused_projects"_s,
                  u"Projects that pause because most of their calls fail for a while."_s, {},
                  size(u"pauses"_s));
    const QJsonObject capacity = renewal["capacity"_L1].toObject();
    flag(u"capacity_sufficient"_s, u"1 while all subscriptions can be renewed within their window."_s,
         capacity["holds"_L1].toBool(true));
    const double possible = capacity["possible"_L1].toDouble();
    m_metrics.set(u"capacity_used_ratio"_s,
                  u"Subscriptions, with a fifth to spare, in proportion to those that can be renewed within "
                  u"their window; above 1 it does not suffice."_s,
                  {}, possible > 0 ? capacity["subscriptions"_L1].toDouble() * 1.2 / possible : 0);
}

/// Without account-time nothing was left uncovered.
void RenewalMetrics::showCoverage(const QJsonObject &coverage)
{
    const QString help = u"Share of the time of active accounts in which their watch was alive."_s;
    m_metrics.set(u"coverage_ratio"_s, help, {{u"window"_s, u"30d"_s}}, coverage["share"_L1].toDouble(1));
    m_metrics.set(u"coverage_ratio"_s, help, {{u"window"_s, u"24h"_s}}, coverage["share_24h"_L1].toDouble(1));
}

void RenewalMetrics::showPushes(const QJsonObject &pushes)
{
    for (const QString &state : {u"proven"_s, u"unproven"_s, u"silent"_s})
        m_metrics.set(u"push_subscriptions"_s, u"Subscriptions by whether a push followed their renewal."_s,
                      {{u"state"_s, state}}, pushes[state].toDouble());
    flag(u"push_path_broken"_s, u"1 while renewals succeed and no push arrives at all."_s,
         pushes["path_broken"_L1].toBool());
}

void RenewalMetrics::flag(const QString &name, const QString &help, bool value)
{
    m_metrics.set(name, help, {}, value ? 1 : 0);
}

} // namespace tidekeeper::app
