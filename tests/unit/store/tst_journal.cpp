// SPDX-License-Identifier: Apache-2.0
#include "store/accountstore.h"
#include "store/journal.h"
#include "store/settingsstore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using store::Journal;
using store::SettingsStore;

namespace {

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

} // namespace

class JournalTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void settingsAreKeptAndAudited();
    void settingsByPrefix();
    void aChangeOverAnothersIsRefused();
    void timelineKeepsTheNewest();
    void timelineOfAGoneAccount();
    void pruneForgetsWhatIsOld();
};

void JournalTest::settingsAreKeptAndAudited()
{
    test::TestDatabase database;
    {
        SettingsStore settings(database.database());
        QVERIFY(wait(settings.set(u"limiter.gmail"_s, {{u"fail_open"_s, false}}, u"kim"_s, 5)).has_value());
        QVERIFY(wait(settings.set(u"limiter.gmail"_s, {{u"fail_open"_s, true}}, u"lee"_s, 6)).has_value());
    }
    database.reopen();
    SettingsStore settings(database.database());
    QCOMPARE(wait(settings.all(u"limiter.gmail"_s))->value(u"limiter.gmail"_s),
             QJsonObject({{u"fail_open"_s, true}}));
    QVERIFY(wait(settings.remove(u"limiter.gmail"_s, u"kim"_s, 7)).has_value());
    QVERIFY(wait(settings.remove(u"limiter.gmail"_s, u"kim"_s, 8)).has_value()); // nothing there: not audited
    QVERIFY(wait(settings.all({}))->isEmpty());

    Journal journal(database.database());
    const auto audit = *wait(journal.audits(0, 10));
    QCOMPARE(audit.size(), 3);
    QCOMPARE(audit[0].action, u"setting.reset"_s);
    QCOMPARE(audit[1].actor, u"lee"_s);
    QCOMPARE(audit[1].details, QJsonObject({{u"fail_open"_s, true}}));
    QCOMPARE(audit[2].at, qint64(5));
    QCOMPARE(wait(journal.audits(audit[1].id, 10))->size(), 1);
}

void JournalTest::settingsByPrefix()
{
    test::TestDatabase database;
    SettingsStore settings(database.database());
    for (const QString &name : {u"schedule.a"_s, u"schedule.b_c"_s, u"scheduleX"_s, u"limiter.gmail"_s})
        QVERIFY(wait(settings.set(name, {}, u"kim"_s, 1)).has_value());
    QCOMPARE(wait(settings.all(u"schedule."_s))->keys(), QStringList({u"schedule.a"_s, u"schedule.b_c"_s}));
    QCOMPARE(wait(settings.all({}))->size(), 4);
}

void JournalTest::aChangeOverAnothersIsRefused()
{
    test::TestDatabase database;
    SettingsStore settings(database.database());
    const QString name = u"limiter.gmail"_s;
    const QJsonObject open{{u"fail_open"_s, true}};
    const QJsonObject closed{{u"fail_open"_s, false}};
    const auto replace = [&](const QJsonObject &before, const QJsonObject &after) {
        const Result<> done = wait(settings.replace(name, before, after, u"kim"_s, 5));
        return done ? QString() : done.error().code;
    };
    QCOMPARE(replace({}, {}), QString());
    QCOMPARE(replace(open, closed), u"setting_changed"_s);
    QCOMPARE(replace({}, open), QString());
    QCOMPARE(replace({}, closed), u"setting_changed"_s); // there is one by now
    QCOMPARE(wait(settings.all(name))->value(name), open);
    QCOMPARE(replace(open, closed), QString());
    QCOMPARE(replace(open, {}), u"setting_changed"_s);
    QCOMPARE(replace(closed, {}), QString());
    QVERIFY(wait(settings.all(name))->isEmpty());

    Journal journal(database.database());
    const auto audit = *wait(journal.audits(0, 10));
    QCOMPARE(audit.size(), 3); // refused ones leave no trace
    QCOMPARE(audit[0].action, u"setting.reset"_s);
    QCOMPARE(audit[1].action, u"setting.set"_s);
    QCOMPARE(audit[1].details, QJsonObject({{u"before"_s, open}, {u"after"_s, closed}}));
}

void JournalTest::timelineKeepsTheNewest()
{
    test::TestDatabase database;
    store::AccountStore accounts(database.database());
    store::AccountChange change;
    change.email = u"kim@example.com"_s;
    for (const QString &id : {u"a1"_s, u"a2"_s})
        QVERIFY(wait(accounts.put(id, change, 1)).has_value());
    Journal journal(database.database());
    QVERIFY(wait(journal.note(u"a2"_s, {1, u"renewal.renewed"_s, {{u"n"_s, -1}}})).has_value());
    for (int i = 0; i < Journal::mostPerAccount + 5; ++i)
        QVERIFY(wait(journal.note(u"a1"_s, {i, u"renewal.renewed"_s, {{u"n"_s, i}}})).has_value());
    const auto all = *wait(journal.timeline(u"a1"_s, 0, 1000));
    QCOMPARE(all.size(), Journal::mostPerAccount);
    QCOMPARE(all.first().details[u"n"_s].toInt(), Journal::mostPerAccount + 4);
    QCOMPARE(all.last().at, qint64(5));
    QCOMPARE(wait(journal.timeline(u"a1"_s, all[1].id, 2))->first().id, all[2].id);
    QCOMPARE(wait(journal.timeline(u"a2"_s, 0, 10))->size(), 1);
}

void JournalTest::timelineOfAGoneAccount()
{
    test::TestDatabase database;
    Journal journal(database.database());
    QVERIFY(wait(journal.note(u"gone"_s, {1, u"renewal.renewed"_s, {}})).has_value());
    QVERIFY(wait(journal.timeline(u"gone"_s, 0, 10))->isEmpty());
}

void JournalTest::pruneForgetsWhatIsOld()
{
    test::TestDatabase database;
    Journal journal(database.database());
    for (const qint64 at : {10, 20, 30})
        QVERIFY(wait(journal.audit({at, u"kim"_s, u"account.put"_s, u"a1"_s, {}})).has_value());
    QVERIFY(wait(journal.prune(20, 0)).has_value());
    QCOMPARE(wait(journal.audits(0, 10))->size(), 2);
}

QTEST_GUILESS_MAIN(JournalTest)
#include "tst_journal.moc"
