// SPDX-License-Identifier: Apache-2.0
#include "renewal/custodian.h"
#include "store/journal.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QCoro/QCoroTask>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using renewal::Custodian;

namespace {

/// One Redis.
class FakeMark final : public renewal::ClusterMark {
public:
    QCoro::Task<std::optional<QString>> read() override { co_return answer(); }
    QCoro::Task<std::optional<QString>> claim(QString wanted) override
    {
        if (!isAway && cluster.isEmpty())
            cluster = wanted;
        co_return answer();
    }
    QCoro::Task<> replace(QString wanted) override
    {
        cluster = wanted;
        co_return;
    }

    QString cluster;
    bool isAway = false;

private:
    std::optional<QString> answer() const { return isAway ? std::nullopt : std::optional(cluster); }
};

} // namespace

class TestCustodian : public QObject {
    Q_OBJECT

    /// An engine that starts; why it only observes, empty = it works.
    QString start(const QString &engine, FakeMark *mark)
    {
        Custodian custodian({engine, *m_settings, mark, m_clock, [](const QString &) {}});
        QCoro::waitFor(custodian.start());
        return custodian.heldBecause();
    }

private Q_SLOTS:
    void init()
    {
        m_database = std::make_unique<test::TestDatabase>();
        m_settings = std::make_unique<store::SettingsStore>(m_database->database());
    }

    void restartsAndEnginesOfOneClusterWork()
    {
        FakeMark redis;
        QCOMPARE(start(u"one"_s, &redis), QString());
        QVERIFY(!redis.cluster.isEmpty());
        QCOMPARE(start(u"one"_s, &redis), QString());
        QCOMPARE(start(u"two"_s, &redis), QString());
        const QString cluster = redis.cluster;
        redis.cluster.clear(); // everything was lost
        QCOMPARE(start(u"two"_s, &redis), QString());
        QCOMPARE(redis.cluster, cluster); // and is written again, so that a third one can join
        QCOMPARE(start(u"three"_s, &redis), QString());
        redis.isAway = true;
        QCOMPARE(start(u"one"_s, &redis), QString());
    }

    void aCopyIsHeldUntilItIsAdopted()
    {
        QCOMPARE(start(u"one"_s, nullptr), QString()); // its database is then copied
        QStringList reasons;
        Custodian copy({u"two"_s, *m_settings, nullptr, m_clock,
                        [&reasons](const QString &reason) { reasons.append(reason); }});
        QCoro::waitFor(copy.start());
        QVERIFY2(copy.heldBecause().contains(u"accounts adopt"_s), qPrintable(copy.heldBecause()));
        QCoro::waitFor(copy.look());
        QCOMPARE(reasons.size(), 1); // told once

        const Result<bool> adopted = QCoro::waitFor(copy.adopt(u"ann"_s));
        QVERIFY(adopted && *adopted);
        QCOMPARE(copy.heldBecause(), QString());
        QCOMPARE(reasons.last(), QString());
        store::Journal journal(m_database->database());
        const auto audits = QCoro::waitFor(journal.audits(0, 10));
        QVERIFY(audits.has_value());
        QCOMPARE(audits->first().actor, u"ann"_s);
        QCOMPARE(audits->first().target, Custodian::settingName);
        const Result<bool> again = QCoro::waitFor(copy.adopt(u"ann"_s));
        QVERIFY(again && !*again);
        QCOMPARE(start(u"two"_s, nullptr), QString());
        QVERIFY(!start(u"one"_s, nullptr).isEmpty()); // one engine only
    }

    void aNewEngineWaitsForRedis()
    {
        FakeMark redis;
        QCOMPARE(start(u"one"_s, &redis), QString());
        redis.isAway = true;
        Custodian second({u"two"_s, *m_settings, &redis, m_clock, [](const QString &) {}});
        QCoro::waitFor(second.start());
        QVERIFY(second.heldBecause().contains(u"Redis"_s));
        redis.isAway = false;
        QCoro::waitFor(second.look());
        QCOMPARE(second.heldBecause(), QString());
    }

    void enginesThatStartTogetherAllJoin()
    {
        FakeMark redis;
        std::vector<std::unique_ptr<Custodian>> engines;
        std::vector<QCoro::Task<>> starts;
        for (int i = 0; i < 4; ++i) {
            engines.push_back(std::make_unique<Custodian>(Custodian::Ports{
                u"engine-%1"_s.arg(i), *m_settings, &redis, m_clock, [](const QString &) {}}));
            starts.push_back(engines.back()->start());
        }
        for (QCoro::Task<> &each : starts)
            QCoro::waitFor(each);
        for (const auto &engine : engines)
            QCOMPARE(engine->heldBecause(), QString());
        QCOMPARE(start(u"engine-0"_s, nullptr), QString());
        QCOMPARE(start(u"engine-3"_s, nullptr), QString());
    }

    void nothingIsDoneBeforeTheDatabaseHasSaidSo()
    {
        QVERIFY(m_database->sql(u"SELECT COUNT(*) FROM settings"_s).toInt() == 0);
        m_database->sql(u"ALTER TABLE settings RENAME TO away"_s);
        Custodian engine({u"one"_s, *m_settings, nullptr, m_clock, [](const QString &) {}});
        QCoro::waitFor(engine.start());
        QVERIFY(!engine.heldBecause().isEmpty());
        m_database->sql(u"ALTER TABLE away RENAME TO settings"_s);
        QCoro::waitFor(engine.look());
        QCOMPARE(engine.heldBecause(), QString());
        m_database->sql(u"ALTER TABLE settings RENAME TO away"_s);
        QCoro::waitFor(engine.look());
        QCOMPARE(engine.heldBecause(), QString()); // one that goes away later changes nothing
    }

private:
    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::SettingsStore> m_settings;
    test::FakeClock m_clock;
};

QTEST_GUILESS_MAIN(TestCustodian)
#include "tst_custodian.moc"
