// SPDX-License-Identifier: Apache-2.0
#include "app/renewalhealth.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::app;

namespace {

constexpr qint64 nowMs = 1'800'000'000'000;
constexpr qint64 hourMs = 3'600'000;

/// As Overview::read() has it while there is nothing to say.
QJsonObject healthy()
{
    return {{u"now"_s, nowMs},
            {u"started_at"_s, nowMs - 30 * hourMs},
            {u"accounts"_s, QJsonObject{{u"state"_s, QJsonObject{{u"active"_s, 40}}}}},
            {u"scan"_s,
             QJsonObject{{u"schedule"_s, u"renewal-scan"_s},
                         {u"scheduled"_s, true},
                         {u"interval_ms"_s, 60'000},
                         {u"last_at"_s, nowMs - 30'000}}},
            {u"renewal"_s, QJsonObject{{u"has_provider"_s, true}, {u"mode"_s, u"renew"_s}}},
            {u"clock_skew_ms"_s, QJsonObject{{u"redis"_s, 2'000}, {u"google"_s, -2'000}}}};
}

/// With these keys of one part instead.
QJsonObject with(const QString &part, const QJsonObject &changes)
{
    QJsonObject overview = healthy();
    QJsonObject changed = overview[part].toObject();
    for (auto it = changes.begin(); it != changes.end(); ++it)
        changed[it.key()] = *it;
    overview[part] = changed;
    return overview;
}

QJsonObject list(const QString &key, const QJsonObject &entry)
{
    return {{key, QJsonArray{entry}}};
}

} // namespace

/// Each condition of renewals: the part, its code, whether traffic goes elsewhere, and words that must be said.
class TestRenewalHealth : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void nothingToSay()
    {
        for (const QJsonValue part : renewalParts(healthy()))
            QVERIFY2(part["ok"_L1].toBool() && part["ready"_L1].toBool(),
                     qPrintable(part["text"_L1].toString()));
    }

    void conditions_data()
    {
        QTest::addColumn<QJsonObject>("overview");
        QTest::addColumn<QString>("part");
        QTest::addColumn<bool>("ready");
        QTest::addColumn<QString>("says");
        const auto row = [](const char *code, const QJsonObject &overview, const QString &part,
                            const QString &says,
                            bool ready = true) { QTest::newRow(code) << overview << part << ready << says; };
        const QString renewal = u"renewal"_s;
        const QString accounts = u"accounts"_s;
        row("no_provider", with(renewal, {{u"has_provider"_s, false}}), renewal, u"expire meanwhile: 40"_s);
        row("observing", with(renewal, {{u"mode"_s, u"observe"_s}}), renewal, u"mode is \"observe\""_s);
        row("scan_not_scheduled", with(u"scan"_s, {{u"scheduled"_s, false}}), renewal, u"renewal-scan"_s);
        row("scan_paused", with(u"scan"_s, {{u"paused"_s, true}}), renewal, u"schedules resume"_s);
        row("scan_failed", with(renewal, {{u"last_scan"_s, QJsonObject{{u"error"_s, u"disk full"_s}}}}),
            renewal, u"disk full"_s);
        row("scan_stale", with(u"scan"_s, {{u"last_at"_s, nowMs - 180'001}}), renewal, u"for 3 min"_s);
        row("invalid_client",
            with(renewal,
                 list(u"breakers"_s,
                      {{u"code"_s, u"invalid_client"_s},
                       {u"text"_s, u"Refused."_s},
                       {u"remedy"_s, u"Mend."_s}})),
            renewal, u"Refused. Mend."_s, false);
        row("wave_open",
            with(renewal, list(u"waves"_s, {{u"id"_s, 7}, {u"project"_s, u"p"_s}, {u"client"_s, u"c"_s}})),
            renewal, u"wave confirm 7"_s);
        row("project_paused", with(renewal, list(u"pauses"_s, {{u"project"_s, u"p"_s}})), renewal,
            u"\"p\""_s);
        row("capacity_insufficient",
            with(renewal, {{u"capacity"_s, QJsonObject{{u"holds"_s, false}, {u"text"_s, u"Raise it."_s}}}}),
            renewal, u"Raise it."_s);
        const auto band = [](const QString &name) {
            return with(u"accounts"_s, {{u"active_band"_s, QJsonObject{{name, 3}}}});
        };
        row("accounts_lapsed", band(u"expired"_s), accounts, u"has lapsed: 3."_s);
        row("accounts_critical", band(u"critical"_s), accounts, u": 3."_s);
        row("accounts_without_watch", with(accounts, {{u"without_watch"_s, 3}}), accounts, u": 3."_s);
        row("accounts_parked", with(accounts, {{u"state"_s, QJsonObject{{u"parked"_s, 3}}}}), accounts,
            u": 3."_s);
        row("renewals_overdue", with(accounts, {{u"oldest_due_at"_s, nowMs - 25 * hourMs}}), accounts,
            u"due for 25 h"_s);
        // Never rounded up to what it is not.
        row("coverage_incomplete", with(u"coverage"_s, {{u"share_24h"_s, 0.99999}, {u"share"_s, 0.999996}}),
            u"coverage"_s, u"99.99 %"_s);
        row("clock_skew", with(u"clock_skew_ms"_s, {{u"redis"_s, -2'001}}), u"clock"_s, u"2.0 s behind"_s);
        row("push_path_broken", with(u"pushes"_s, {{u"path_broken"_s, true}, {u"text"_s, u"No push."_s}}),
            u"pushes"_s, u"No push."_s);
        QJsonObject testing = healthy();
        testing[u"hints"_s] = QJsonArray{
            QJsonObject{{u"code"_s, u"consent_screen_in_testing"_s}, {u"text"_s, u"Publish it."_s}}};
        row("consent_screen_in_testing", testing, u"grants"_s, u"Publish it."_s);
    }

    void conditions()
    {
        QFETCH(const QJsonObject, overview);
        QFETCH(const QString, part);
        QFETCH(const bool, ready);
        QFETCH(const QString, says);
        QJsonArray found;
        for (const QJsonValue one : renewalParts(overview)) {
            if (!one["ok"_L1].toBool())
                found.append(one);
        }
        QCOMPARE(found.size(), 1);
        QCOMPARE(found[0]["name"_L1].toString(), part);
        QCOMPARE(found[0]["code"_L1].toString(), QString::fromLatin1(QTest::currentDataTag()));
        QCOMPARE(found[0]["ready"_L1].toBool(), ready);
        QVERIFY2(found[0]["text"_L1].toString().contains(says), qPrintable(found[0]["text"_L1].toString()));
    }
};

QTEST_GUILESS_MAIN(TestRenewalHealth)
#include "tst_renewalhealth.moc"
