// SPDX-License-Identifier: Apache-2.0
// What operators change is checked whole, kept, audited and in force; what no longer fits stops nothing.
#include "limits/grantid.h"
#include "settings/fakelimiter.h"
#include "settings/limiterview.h"
#include "store/journal.h"
#include "support/testdatabase.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::settings;

namespace {

const QString limiterSetting = u"limiter.gmail"_s;

QJsonObject parsed(const QByteArray &json)
{
    return QJsonDocument::fromJson(json).object();
}

QStringList texts(const QJsonValue &list)
{
    QStringList texts;
    for (const QJsonValue &text : list.toArray())
        texts.append(text.toString());
    return texts;
}

} // namespace

class TestLimiterSettings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void holdsFromTheStart();
    void nothingChangedTouchesNothing();
    void aChangeIsKeptAuditedAndInForce();
    void aRefusedChangeChangesNothing_data();
    void aRefusedChangeChangesNothing();
    void twoChangesAtOnceBothStay();
    void whatNoLongerFitsStopsNothing();
    void settingsThatNeedEachOtherFit();
    void aLimiterThatDoesNotTakeOverIsAskedAgain();
    void switchedOffIsGrantedUnasked();
    void switchesOffWhateverElseIsWrong();
    void withoutTheDatabaseTheLastWordHolds();
    void accountsHaveLimitsOfTheirOwn();
    void overridesThatDoNotFitAreShown();
    void namesTheSourceOfEachValue();
    void aLimiterWithoutLiveSettingsIsSwitchedOnAndOff();

private:
    void store(const QString &name, const QByteArray &json);
    QByteArray stored(const QString &name = limiterSetting);
    QList<store::AuditEntry> audit();
    QJsonObject view() const { return limiterView(m_side->state(), m_side->settings.readProblem()); }
    QuotaAnswer acquire(const QuotaRequest &request, Status *status = nullptr);

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<test::EngineSide> m_side;
};

void TestLimiterSettings::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_side = std::make_unique<test::EngineSide>(m_database->database());
}

void TestLimiterSettings::cleanup()
{
    QCoro::waitFor(m_side->settings.stop());
    m_side.reset();
    m_database.reset();
}

/// As somebody would with the database's own tools.
void TestLimiterSettings::store(const QString &name, const QByteArray &json)
{
    m_database->sql(u"DELETE FROM settings WHERE name = '%1'"_s.arg(name));
    m_database->sql(
        u"INSERT INTO settings VALUES ('%1', '%2', 1, 'sql')"_s.arg(name, QString::fromUtf8(json)));
}

QByteArray TestLimiterSettings::stored(const QString &name)
{
    return m_database->sql(u"SELECT value FROM settings WHERE name = '%1'"_s.arg(name)).toByteArray();
}

QList<store::AuditEntry> TestLimiterSettings::audit()
{
    store::Journal journal(m_database->database());
    return *QCoro::waitFor(journal.audits(0, 100));
}

QuotaAnswer TestLimiterSettings::acquire(const QuotaRequest &request, Status *status)
{
    QuotaAnswer got;
    m_side->registry.acquire(u"gmail"_s, request,
                             whenDecided(this, [&](const Status &ended, const QuotaAnswer &answer) {
                                 got = answer;
                                 if (status)
                                     *status = ended;
                             }));
    return got;
}

void TestLimiterSettings::holdsFromTheStart()
{
    store(limiterSetting, R"({"fail_open": false, "projects": {"default": {"account_capacity": 500}}})");
    QCoro::waitFor(m_side->settings.take(m_side->limiter.profile())); // nothing else is awaited
    QCOMPARE(m_side->limiter.adjustments, 1);
    QCOMPARE(m_side->limiter.adjusted, parsed(stored(limiterSetting)));
    QCOMPARE(view()["fail_open"_L1], QJsonValue(false));
    QCOMPARE(view()["projects"_L1]["default"_L1]["account_capacity"_L1], QJsonValue(500));
}

void TestLimiterSettings::nothingChangedTouchesNothing()
{
    m_side->start();
    QCOMPARE(m_side->limiter.adjustments, 0);
    QVERIFY(m_side->change({}));
    QVERIFY(m_side->change({{u"enforce"_s, QJsonValue::Null}}));
    QCOMPARE(m_side->limiter.adjustments, 0);
    QVERIFY(audit().isEmpty());
    QCOMPARE(texts(view()["warnings"_L1]), QStringList());
}

void TestLimiterSettings::aChangeIsKeptAuditedAndInForce()
{
    m_side->start();
    QVERIFY(m_side->change(parsed(R"({"enforce": false, "projects": {"other": {"day_budget": 7}}})")));
    QCOMPARE(m_side->limiter.adjusted,
             parsed(R"({"enforce": false, "projects": {"other": {"day_budget": 7}}})"));
    QVERIFY(m_side->change(parsed(R"({"send_slack": "3s", "projects": {"other": null}})"), u"lee"_s));
    QCOMPARE(m_side->limiter.adjusted, parsed(R"({"enforce": false, "send_slack": 3000})"));
    QCOMPARE(parsed(stored()), m_side->limiter.adjusted);
    QVERIFY(m_side->change(parsed(R"({"enforce": null, "send_slack": null})")));
    QCOMPARE(m_side->limiter.adjusted, QJsonObject());
    QCOMPARE(stored(), QByteArray());

    const QList<store::AuditEntry> entries = audit();
    QCOMPARE(entries.size(), 3);
    QCOMPARE(entries[0].action, u"setting.reset"_s);
    QCOMPARE(entries[1].actor, u"lee"_s);
    QCOMPARE(entries[1].target, limiterSetting);
    QCOMPARE(entries[1].details,
             parsed(R"({"before": {"enforce": false, "projects": {"other": {"day_budget": 7}}},
                        "after": {"enforce": false, "send_slack": 3000}})"));
    QCOMPARE(entries[2].at, m_side->clock.nowMs());
}

void TestLimiterSettings::aRefusedChangeChangesNothing_data()
{
    QTest::addColumn<QByteArray>("patch");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("field");
    QTest::newRow("unknown") << QByteArray(R"({"enforce": false, "enfrce": true})") << u"invalid_settings"_s
                             << u"enfrce"_s;
    QTest::newRow("out of range") << QByteArray(R"({"enforce": false, "slots": 0})") << u"invalid_settings"_s
                                  << u"slots"_s;
    QTest::newRow("unknown project") << QByteArray(R"({"enforce": false, "projects": {"no": {}}})")
                                     << u"unknown_project"_s << u"projects.no"_s;
    QTest::newRow("refused by the limiter")
        << QByteArray(R"({"enforce": false, "projects": {"other": {"account_capacity": 1001}}})")
        << u"invalid_settings"_s << u"projects.other.account_capacity"_s;
}

void TestLimiterSettings::aRefusedChangeChangesNothing()
{
    QFETCH(QByteArray, patch);
    QFETCH(QString, code);
    QFETCH(QString, field);

    m_side->start();
    const Result<> changed = m_side->change(parsed(patch));
    QVERIFY(!changed);
    QCOMPARE(changed.error().code, code);
    QCOMPARE(changed.error().details["field"_L1].toString(), field);
    QCOMPARE(m_side->limiter.adjustments, 0);
    QCOMPARE(stored(), QByteArray());
    QVERIFY(audit().isEmpty());
    QCOMPARE(QCoro::waitFor(m_side->settings.change(u"other"_s, {}, u"kim"_s)).error().code,
             u"unknown_limiter"_s);
}

void TestLimiterSettings::twoChangesAtOnceBothStay()
{
    m_side->start();
    auto first = m_side->settings.change(u"gmail"_s, {{u"enforce"_s, false}}, u"kim"_s);
    auto second = m_side->settings.change(u"gmail"_s, {{u"slots"_s, 3}}, u"lee"_s);
    QVERIFY(QCoro::waitFor(std::move(first)));
    QVERIFY(QCoro::waitFor(std::move(second)));
    QCOMPARE(parsed(stored()), parsed(R"({"enforce": false, "slots": 3})"));
    QCOMPARE(m_side->limiter.adjusted, parsed(stored()));
    QCOMPARE(audit().size(), 2);
}

void TestLimiterSettings::whatNoLongerFitsStopsNothing()
{
    store(limiterSetting,
          R"({"enforce": false, "gone": 1, "slots": "many", "projects":
              {"default": {"account_capacity": 5000, "day_budget": 9}, "gone": {"day_budget": 9}}})");
    m_side->start();
    QCOMPARE(m_side->limiter.adjusted,
             parsed(R"({"enforce": false, "projects": {"default": {"day_budget": 9}}})"));
    QStringList fields;
    for (const Misfit &misfit : m_side->state().misfits)
        fields.append(misfit.field);
    QCOMPARE(fields,
             QStringList({u"gone"_s, u"projects.default.account_capacity"_s, u"projects.gone.day_budget"_s,
                          u"slots"_s}));
    QCOMPARE(texts(view()["warnings"_L1]).filter(u"does not fit"_s).size(), 4);

    // Others can be changed beside them, and each can be returned to the file.
    QVERIFY(m_side->change(parsed(R"({"fail_open": false})")));
    QCOMPARE(m_side->limiter.adjusted["fail_open"_L1], QJsonValue(false));
    QVERIFY(parsed(stored()).contains("gone"_L1));
    QVERIFY(m_side->change(parsed(
        R"({"gone": null, "slots": null, "projects": {"gone": null, "default": {"account_capacity": 400}}})")));
    QVERIFY(m_side->state().misfits.isEmpty());
    QCOMPARE(m_side->limiter.adjusted, parsed(stored()));

    store(limiterSetting, "this is not JSON");
    QTRY_COMPARE(m_side->limiter.adjusted, QJsonObject());
}

/// A capacity of 900 needs a key_ttl above 900 s, and a key_ttl of 200 s a capacity below 200: alone in either order
/// one of them would not fit, and a third that never fits must not hide that.
void TestLimiterSettings::settingsThatNeedEachOtherFit()
{
    const QByteArray other =
        R"("projects": {"default": {"account_capacity": 100}, "other": {"account_capacity": 150}})";
    store(limiterSetting, R"({"bulk_reserve": 7, "key_ttl": 200000, )" + other + '}');
    m_side->start();
    QCOMPARE(m_side->limiter.adjusted, parsed(R"({"key_ttl": 200000, )" + other + '}'));
    QCOMPARE(m_side->state().misfits.size(), 1);
}

void TestLimiterSettings::aLimiterThatDoesNotTakeOverIsAskedAgain()
{
    m_side->start();
    m_side->limiter.nextAdjustment = Status::failure(u"limiter_unavailable"_s, u"Not just now."_s);
    QVERIFY(m_side->change({{u"enforce"_s, false}})); // it is kept
    QCOMPARE(m_side->limiter.adjusted, QJsonObject());
    QCOMPARE(texts(view()["warnings"_L1]).filter(u"Not just now."_s).size(), 1);
    QTRY_COMPARE(m_side->limiter.adjusted, parsed(R"({"enforce": false})"));
    QTRY_COMPARE(texts(view()["warnings"_L1]).filter(u"Not just now."_s).size(), 0);
    QCOMPARE(m_side->limiter.adjustments, 2);
}

void TestLimiterSettings::switchedOffIsGrantedUnasked()
{
    m_side->start();
    QVERIFY(m_side->change({{u"enabled"_s, false}}));
    QCOMPARE(m_side->limiter.adjusted, QJsonObject()); // the switch is the engine's, not the limiter's

    QuotaRequest request;
    request.account = u"kim@example.com"_s;
    request.method = u"gmail.users.watch"_s;
    request.lane = u"bulk"_s;
    const QuotaAnswer answer = acquire(request);
    QVERIFY(answer.granted);
    QVERIFY(answer.degraded);
    QCOMPARE(answer.cost, 0);
    QCOMPARE(limits::grantFrom(u"gmail"_s, answer.grantId)->account, request.account);
    QCOMPARE(m_side->limiter.asked, 0);
    QCOMPARE(m_side->registry.ungoverned().value({u"gmail"_s, u"bulk"_s}), 1);
    QCOMPARE(view()["enabled"_L1], QJsonValue(false));
    QCOMPARE(texts(view()["warnings"_L1]).filter(u"without asking Redis"_s).size(), 1);

    Status status;
    request.lane = u"express"_s;
    QVERIFY(!acquire(request, &status).granted);
    QCOMPARE(status.code, u"invalid_request"_s);
    request.lane.clear();
    request.project = u"nobody"_s;
    QVERIFY(!acquire(request, &status).granted);
    QCOMPARE(status.code, u"unknown_project"_s);

    QVERIFY(m_side->change({{u"enabled"_s, QJsonValue::Null}}));
    request.project.clear();
    QVERIFY(!acquire(request).degraded);
    QCOMPARE(m_side->limiter.asked, 1);
    QCOMPARE(m_side->registry.ungoverned().size(), 1);
}

void TestLimiterSettings::switchesOffWhateverElseIsWrong()
{
    store(limiterSetting, R"({"enabled": false, "slots": "many"})");
    m_side->limiter.nextAdjustment = Status::failure(u"limiter_unavailable"_s, u"Not just now."_s);
    QCoro::waitFor(m_side->settings.take(m_side->limiter.profile()));
    QuotaRequest request;
    request.account = u"kim@example.com"_s;
    request.cost = 40;
    QVERIFY(acquire(request).degraded);
}

void TestLimiterSettings::withoutTheDatabaseTheLastWordHolds()
{
    m_side->start();
    QVERIFY(m_side->change({{u"enforce"_s, false}}));
    m_database->sql(u"ALTER TABLE settings RENAME TO away"_s);
    QTRY_VERIFY(!m_side->settings.readProblem().isEmpty());
    QCOMPARE(m_side->limiter.adjusted, parsed(R"({"enforce": false})"));
    QCOMPARE(texts(view()["warnings"_L1]).filter(u"stay as they were read last"_s).size(), 1);
    QCOMPARE(m_side->change({{u"enforce"_s, true}}).error().code, u"database_unavailable"_s);
    m_database->sql(u"ALTER TABLE away RENAME TO settings"_s);
    QTRY_VERIFY(m_side->settings.readProblem().isEmpty());
}

void TestLimiterSettings::accountsHaveLimitsOfTheirOwn()
{
    m_side->start();
    QVERIFY(m_side->putOverride({u"default"_s, u" Kim@Example.com"_s}, {{u"account_capacity"_s, 100}}));
    const auto *own = m_side->overrides.find(u"gmail"_s, u"default"_s, u"kim@example.com"_s);
    QVERIFY(own);
    QCOMPARE(own->capacity, 100);
    QCOMPARE(own->refillPerMinute, 5'450); // the project's
    QCOMPARE(stored(u"limiter.gmail.override.default.kim@example.com"_s),
             QByteArray(R"({"account_capacity":100})"));
    const QJsonObject shown = view()["overrides"_L1][0].toObject();
    QCOMPARE(shown["account"_L1].toString(), u"kim@example.com"_s);
    QCOMPARE(shown["bulk_reserve"_L1].toDouble(), 0.5);
    QCOMPARE(shown["slots"_L1].toInt(), 10);
    QCOMPARE(texts(shown["changed"_L1]), QStringList({u"account_capacity"_s}));

    // What it has of the project follows the project.
    QVERIFY(m_side->change(parsed(R"({"projects": {"default": {"account_refill_per_minute": 5000}}})")));
    QCOMPARE(m_side->overrides.find(u"gmail"_s, u"default"_s, u"kim@example.com"_s)->refillPerMinute, 5'000);

    QVERIFY(m_side->putOverride({u"default"_s, u"kim@example.com"_s}, {{u"slots"_s, 2}})); // replaces
    QCOMPARE(m_side->overrides.find(u"gmail"_s, u"default"_s, u"kim@example.com"_s)->capacity, 360);
    QVERIFY(m_side->removeOverride({u"default"_s, u"KIM@example.com"_s}));
    QVERIFY(!m_side->overrides.find(u"gmail"_s, u"default"_s, u"kim@example.com"_s));
    QCOMPARE(m_side->removeOverride({u"default"_s, u"kim@example.com"_s}).error().code, u"not_found"_s);
    const QList<store::AuditEntry> entries = audit();
    QCOMPARE(entries.size(), 4);
    QCOMPARE(entries[0].action, u"setting.reset"_s);
    QCOMPARE(entries[0].details["before"_L1], QJsonValue(QJsonObject{{u"slots"_s, 2}}));

    QCOMPARE(m_side->putOverride({u"no"_s, u"kim@example.com"_s}, {{u"slots"_s, 2}}).error().code,
             u"unknown_project"_s);
    for (const QString &account : {u" "_s, QString(321, u'a')})
        QCOMPARE(m_side->putOverride({u"default"_s, account}, {{u"slots"_s, 2}})
                     .error()
                     .details["field"_L1]
                     .toString(),
                 u"account"_s);
    QCOMPARE(audit().size(), 4);
}

void TestLimiterSettings::overridesThatDoNotFitAreShown()
{
    store(u"limiter.gmail.override.gone.kim@example.com"_s, R"({"slots": 2})");
    store(u"limiter.gmail.override.default.kim@example.com"_s, R"({"slots": -2})");
    store(u"limiter.gmail.override.default.Lee@Example.com"_s, R"({"slots": 2})");
    store(u"limiter.gmail.override.stray"_s, R"({"slots": 2})");
    m_side->start();
    QCOMPARE(m_side->overrides.find(u"gmail"_s, u"default"_s, u"lee@example.com"_s)->places, 2);
    QVERIFY(!m_side->overrides.find(u"gmail"_s, u"default"_s, u"kim@example.com"_s));
    const QJsonArray shown = view()["overrides"_L1].toArray();
    QCOMPARE(shown.size(), 3);
    QVERIFY(texts(shown[0]["warnings"_L1]).value(0).contains(u"slots"_s));
    QVERIFY(texts(shown[2]["warnings"_L1]).value(0).contains(u"no project \"gone\""_s));
    QCOMPARE(texts(view()["warnings"_L1]).filter(u"override.stray"_s).size(), 1);
    // All can be taken back, also one that was written by hand in capitals.
    for (const OverrideName &name :
         {OverrideName{u"gone"_s, u"kim@example.com"_s}, OverrideName{u"default"_s, u"kim@example.com"_s},
          OverrideName{u"default"_s, u"lee@example.com"_s}})
        QVERIFY(m_side->removeOverride(name));
    QVERIFY(view()["overrides"_L1].toArray().isEmpty());
}

void TestLimiterSettings::namesTheSourceOfEachValue()
{
    m_side->start();
    QVERIFY(
        m_side->change(parsed(R"({"fail_open": true, "projects": {"default": {"day_action": "refuse"}}})")));
    const QJsonObject sources = view()["sources"_L1].toObject();
    QCOMPARE(sources["enforce"_L1].toString(), u"default"_s);
    QCOMPARE(sources["enabled"_L1].toString(), u"default"_s);
    QCOMPARE(sources["fail_open"_L1].toString(), u"operator"_s); // although it is what the file says too
    QCOMPARE(sources["send_slack"_L1].toString(), u"file"_s);
    QCOMPARE(view()["send_slack"_L1].toInt(), 1'000);
    QCOMPARE(view()["key_ttl"_L1].toInt(), 3'600'000);
    const QJsonObject projects = sources["projects"_L1].toObject();
    QCOMPARE(projects["default"_L1]["account_capacity"_L1].toString(), u"preset"_s);
    QCOMPARE(projects["other"_L1]["account_capacity"_L1].toString(), u"file"_s);
    QCOMPARE(projects["default"_L1]["day_action"_L1].toString(), u"operator"_s);
    QCOMPARE(projects["other"_L1]["day_action"_L1].toString(), u"default"_s);
    for (const QString &name : {u"enabled"_s, u"enforce"_s, u"fail_open"_s, u"local_fallback"_s}) {
        QVERIFY(view()["consequences"_L1][name]["true"_L1].toString().endsWith(u'.'));
        QVERIFY(view()["consequences"_L1][name]["false"_L1].toString().endsWith(u'.'));
    }
}

void TestLimiterSettings::aLimiterWithoutLiveSettingsIsSwitchedOnAndOff()
{
    LimiterProfile profile = m_side->limiter.profile();
    profile.live = nullptr;
    QCoro::waitFor(m_side->settings.take(profile));
    QVERIFY(m_side->change({{u"enabled"_s, false}}));
    const Result<> changed = m_side->change({{u"enforce"_s, false}});
    QVERIFY(!changed);
    QCOMPARE(changed.error().details["field"_L1].toString(), u"enforce"_s);
}

QTEST_GUILESS_MAIN(TestLimiterSettings)
#include "tst_limitersettings.moc"
