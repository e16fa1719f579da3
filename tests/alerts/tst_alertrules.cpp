// SPDX-License-Identifier: Apache-2.0
#include "alertrules.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtCore/QMap>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

using Series = QMap<QString, QString>; // by name and labels: values of each minute, as promtool writes them

namespace {

const QString nothingAtAll = u"TidekeeperMetricsMissing"_s;

/// Two engines that have nothing to complain of, for five hours.
Series healthy()
{
    Series series;
    for (const QString &instance : {u"a"_s, u"b"_s}) {
        const auto add = [&](const QString &name, const QString &labels, const QString &values) {
            series.insert(u"%1{%2instance=\"%3\"}"_s.arg(name, labels, instance), values);
        };
        const auto gauge = [&](const QString &name, int value, const QString &labels = {}) {
            add(u"tidekeeper_"_s + name, labels, u"%1x300"_s.arg(value));
        };
        add(u"up"_s, u"job=\"tidekeeper\","_s, u"1x300"_s);
        for (const QString &name : {u"redis_connected"_s, u"database_up"_s, u"renewal_provider_running"_s,
                                    u"scan_scheduled"_s, u"capacity_sufficient"_s})
            gauge(name, 1);
        for (const QString &name :
             {u"problems"_s, u"schedules_overdue"_s, u"schedules_orphaned"_s, u"observe_mode"_s,
              u"scan_paused"_s, u"scan_failed"_s, u"breakers_open"_s, u"waves_open"_s, u"paused_projects"_s,
              u"capacity_used_ratio"_s, u"oldest_overdue_seconds"_s, u"push_path_broken"_s,
              u"renewals_deferred_long_total"_s, u"lifetime_short_total"_s, u"grants_lost_total"_s,
              u"watches_owned_elsewhere_total"_s, u"grants_short_lived_total"_s})
            gauge(name, 0);
        gauge(u"leader"_s, instance == "a"_L1 ? 1 : 0);
        gauge(u"queue_taking"_s, 1, u"queue=\"renew\","_s);
        gauge(u"queue_oldest_waiting_seconds"_s, 2, u"queue=\"renew\","_s);
        gauge(u"queue_jobs"_s, 0, u"queue=\"renew\",state=\"dead\","_s);
        gauge(u"queue_jobs"_s, 40, u"queue=\"renew\",state=\"delayed\","_s);
        gauge(u"plugin_state"_s, 1, u"plugin=\"watch-renewal\",state=\"running\","_s);
        gauge(u"limiter_degraded"_s, 0, u"limiter=\"gmail\","_s);
        gauge(u"limiter_switch"_s, 1, u"limiter=\"gmail\",switch=\"enforce\","_s);
        gauge(u"limiter_switch"_s, 0, u"limiter=\"gmail\",switch=\"fail_open\","_s);
        gauge(u"clock_skew_seconds"_s, 0, u"against=\"redis\","_s);
        add(u"tidekeeper_last_scan_timestamp_seconds"_s, {}, u"0+60x300"_s);
        gauge(u"scan_interval_seconds"_s, 60);
        for (const QString &band : {u"late"_s, u"critical"_s, u"expired"_s})
            gauge(u"active_subscriptions"_s, 0, u"band=\"%1\","_s.arg(band));
        gauge(u"accounts"_s, 1'000, u"state=\"active\","_s);
        gauge(u"accounts"_s, 12, u"state=\"needs_reauth\","_s);
        gauge(u"accounts"_s, 0, u"state=\"parked\","_s);
        gauge(u"coverage_ratio"_s, 1, u"window=\"24h\","_s);
        gauge(u"coverage_ratio"_s, 1, u"window=\"30d\","_s);
        gauge(u"push_subscriptions"_s, 0, u"state=\"silent\","_s);
        add(u"tidekeeper_renewal_attempts_total"_s, u"class=\"renewed\",code=\"\","_s, u"0+10x300"_s);
        add(u"tidekeeper_renewal_attempts_total"_s, u"class=\"transient\",code=\"http_503\","_s,
            u"0+1x300"_s);
    }
    return series;
}

/// Of series with the same label on both engines.
Series onBoth(const QString &name, const QString &labels, const QString &values)
{
    return {{u"tidekeeper_%1{%2instance=\"a\"}"_s.arg(name, labels), values},
            {u"tidekeeper_%1{%2instance=\"b\"}"_s.arg(name, labels), values}};
}

Series onOne(const QString &name, const QString &labels, const QString &values)
{
    return {{u"tidekeeper_%1{%2instance=\"a\"}"_s.arg(name, labels), values}};
}

/// What differs from a healthy system, and minutes at which the alert still keeps quiet and at which it fires.
struct Condition {
    QString alert;
    Series changed;
    int quietAt;
    int firingAt;
};

/// One for each alert but the one for when there is nothing at all.
QList<Condition> conditions()
{
    QList<Condition> all;
    const auto row = [&all](const char *alert, const Series &changed, int quietAt, int firingAt) {
        all.append({QString::fromLatin1(alert), changed, quietAt, firingAt});
    };
    const QString renew = u"queue=\"renew\","_s;
    const auto problem = [](const char *code) {
        return onOne(u"problem"_s, u"part=\"accounts\",code=\"%1\","_s.arg(QLatin1StringView(code)),
                     u"1x300"_s);
    };
    row("TidekeeperEngineDown", {{u"up{job=\"tidekeeper\",instance=\"b\"}"_s, u"0x300"_s}}, 4, 6);
    row("TidekeeperRedisDown", onOne(u"redis_connected"_s, {}, u"0x300"_s), 1, 3);
    row("TidekeeperRedisUnsafe", problem("redis_unsafe"), 4, 6);
    row("TidekeeperDatabaseDown", onBoth(u"database_up"_s, {}, u"0x300"_s), 1, 3);
    row("TidekeeperNoLeader", onBoth(u"leader"_s, {}, u"0x300"_s), 1, 3);
    row("TidekeeperScheduleOverdue", onOne(u"schedules_overdue"_s, {}, u"1x300"_s), 4, 6);
    row("TidekeeperSchedulesOrphaned", onBoth(u"schedules_orphaned"_s, {}, u"1x300"_s), 29, 31);
    row("TidekeeperQueueStopped", onOne(u"queue_taking"_s, renew, u"0x300"_s), 1, 3);
    row("TidekeeperJobsWaiting", onBoth(u"queue_oldest_waiting_seconds"_s, renew, u"901x300"_s), 4, 6);
    row("TidekeeperDeadLetters", onBoth(u"queue_jobs"_s, renew + u"state=\"dead\","_s, u"3x300"_s), 4, 6);
    row("TidekeeperPluginFailed",
        onOne(u"plugin_state"_s, u"plugin=\"gmail-quota\",state=\"failed\","_s, u"1x300"_s), 0, 2);
    row("TidekeeperLimiterDegraded", onOne(u"limiter_degraded"_s, u"limiter=\"gmail\","_s, u"1x300"_s), 4, 6);
    row("TidekeeperLimiterOff",
        onBoth(u"limiter_switch"_s, u"limiter=\"gmail\",switch=\"enforce\","_s, u"0x300"_s), 59, 61);
    row("TidekeeperClockSkew", onOne(u"clock_skew_seconds"_s, u"against=\"redis\","_s, u"-3x300"_s), 9, 11);

    row("TidekeeperNoRenewalProvider", onBoth(u"renewal_provider_running"_s, {}, u"0x300"_s), 9, 11);
    row("TidekeeperObserving", onBoth(u"observe_mode"_s, {}, u"1x300"_s), 59, 61);
    row("TidekeeperScanNotScheduled", onBoth(u"scan_scheduled"_s, {}, u"0x300"_s), 4, 6);
    row("TidekeeperScanPaused", onBoth(u"scan_paused"_s, {}, u"1x300"_s), 29, 31);
    row("TidekeeperScanStale", onBoth(u"last_scan_timestamp_seconds"_s, {}, u"0+60x10 600x290"_s), 15, 17);
    row("TidekeeperScanFailed", onOne(u"scan_failed"_s, {}, u"1x300"_s), 9, 11);
    row("TidekeeperBreakerOpen", onBoth(u"breakers_open"_s, {}, u"1x300"_s), 0, 2);
    row("TidekeeperWaveOpen", onBoth(u"waves_open"_s, {}, u"1x300"_s), 0, 2);
    row("TidekeeperProjectPaused", onBoth(u"paused_projects"_s, {}, u"1x300"_s), 14, 16);
    row("TidekeeperCapacityInsufficient", onBoth(u"capacity_sufficient"_s, {}, u"0x300"_s), 14, 16);
    row("TidekeeperCapacityNearlyUsed", onBoth(u"capacity_used_ratio"_s, {}, u"0.95x300"_s), 59, 61);
    row("TidekeeperAttemptsFailing",
        onBoth(u"renewal_attempts_total"_s, u"class=\"transient\",code=\"http_503\","_s, u"0+11x300"_s), 15,
        18);
    const QString one = u"0x20 1x280"_s;
    row("TidekeeperRenewalsDeferred", onOne(u"renewals_deferred_long_total"_s, {}, one), 20, 22);
    row("TidekeeperLifetimeShort", onOne(u"lifetime_short_total"_s, {}, one), 20, 22);

    const auto band = [](const char *name) {
        return onBoth(u"active_subscriptions"_s, u"band=\"%1\","_s.arg(QLatin1StringView(name)), u"1x300"_s);
    };
    row("TidekeeperAccountsLapsed", band("expired"), 4, 6);
    row("TidekeeperAccountsCritical", band("critical"), 29, 31);
    row("TidekeeperAccountsLate", band("late"), 119, 121);
    row("TidekeeperAccountsWithoutWatch", problem("accounts_without_watch"), 29, 31);
    row("TidekeeperRenewalsOverdue", onBoth(u"oldest_overdue_seconds"_s, {}, u"86401x300"_s), 9, 11);
    row("TidekeeperAccountsParked", onBoth(u"accounts"_s, u"state=\"parked\","_s, u"1x300"_s), 14, 16);
    row("TidekeeperWatchOwnedElsewhere", onOne(u"watches_owned_elsewhere_total"_s, {}, one), 20, 22);
    row("TidekeeperGrantsLost", onBoth(u"grants_lost_total"_s, {}, u"0x20 7x280"_s), 20, 22);
    row("TidekeeperGrantsShortLived", onOne(u"grants_short_lived_total"_s, {}, one), 20, 22);
    row("TidekeeperCoverageIncomplete", onBoth(u"coverage_ratio"_s, u"window=\"24h\","_s, u"0.9999x300"_s), 9,
        11);
    row("TidekeeperPushPathBroken", onBoth(u"push_path_broken"_s, {}, u"1x300"_s), 4, 6);
    row("TidekeeperPushesSilent", onBoth(u"push_subscriptions"_s, u"state=\"silent\","_s, u"2x300"_s), 59,
        61);
    row("TidekeeperProblemStands", problem("settings_not_in_force"), 119, 121);
    return all;
}

/// Which alerts fire at that minute, as a question of promtool's.
QJsonObject question(int minute, const QStringList &firing)
{
    QJsonArray samples;
    for (const QString &alert : firing)
        samples.append(QJsonObject{{u"labels"_s, u"{alertname=\"%1\"}"_s.arg(alert)}, {u"value"_s, 1}});
    return {{u"expr"_s, u"group by (alertname) (ALERTS{alertstate=\"firing\"})"_s},
            {u"eval_time"_s, u"%1m"_s.arg(minute)},
            {u"exp_samples"_s, samples}};
}

QJsonObject promtoolTest(const QString &name, const Series &series, const QJsonArray &questions)
{
    QJsonArray input;
    for (auto it = series.begin(); it != series.end(); ++it)
        input.append(QJsonObject{{u"series"_s, it.key()}, {u"values"_s, *it}});
    return {{u"name"_s, name},
            {u"interval"_s, u"1m"_s},
            {u"input_series"_s, input},
            {u"promql_expr_test"_s, questions}};
}

/// JSON is YAML.
QString complaint(const QJsonArray &tests)
{
    QTemporaryDir folder;
    QFile file(folder.filePath(u"test.yml"_s));
    if (!file.open(QIODevice::WriteOnly))
        return file.errorString();
    const QJsonObject content{{u"rule_files"_s, QJsonArray{test::alertFile()}},
                              {u"evaluation_interval"_s, u"1m"_s},
                              {u"tests"_s, tests}};
    file.write(QJsonDocument(content).toJson());
    file.close();
    return test::promtoolComplaint({u"test"_s, u"rules"_s, file.fileName()});
}

} // namespace

/// Each alert fires in its condition, alone, and none does while all is well.
class TestAlertRules : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theFileIsSound()
    {
        const QString found = test::promtoolComplaint({u"check"_s, u"rules"_s, test::alertFile()});
        QVERIFY2(found.isEmpty(), qPrintable(found));
    }

    void eachSaysWhatToDo()
    {
        for (const test::AlertRule &rule : test::alertRules()) {
            for (const QString &key : {u"summary: "_s, u"description: "_s, u"runbook: "_s})
                QVERIFY2(rule.text.contains(key), qPrintable(rule.name + u" lacks "_s + key));
            QVERIFY2(rule.text.contains("severity: page}"_L1) || rule.text.contains("severity: ticket}"_L1),
                     qPrintable(rule.name));
        }
    }

    void eachHasItsCondition()
    {
        QStringList rules;
        for (const test::AlertRule &rule : test::alertRules())
            rules.append(rule.name);
        QStringList tested{nothingAtAll};
        for (const Condition &condition : conditions())
            tested.append(condition.alert);
        QCOMPARE(tested, rules);
    }

    void healthyFiresNone()
    {
        const QString found = complaint(
            {promtoolTest(u"healthy"_s, healthy(), {question(1, {}), question(10, {}), question(290, {})})});
        QVERIFY2(found.isEmpty(), qPrintable(found));
    }

    /// In one run of promtool: it takes its time to start.
    void eachFiresAlone()
    {
        QJsonArray tests{promtoolTest(nothingAtAll, {{u"up{job=\"other\"}"_s, u"1x300"_s}},
                                      {question(2, {}), question(4, {nothingAtAll})})};
        for (const Condition &condition : conditions()) {
            Series series = healthy();
            series.insert(condition.changed);
            tests.append(promtoolTest(
                condition.alert, series,
                {question(condition.quietAt, {}), question(condition.firingAt, {condition.alert})}));
        }
        const QString found = complaint(tests);
        QVERIFY2(found.isEmpty(), qPrintable(found));
    }
};

QTEST_GUILESS_MAIN(TestAlertRules)
#include "tst_alertrules.moc"
