// SPDX-License-Identifier: Apache-2.0
#include "app/queuewatch.h"
#include "support/fakeclock.h"

#include <QtCore/QJsonArray>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

/// A worker and a scheduler that nobody starts say by their signals what happened.
class TestQueueWatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void countersAreThereFromTheStart();
    void endsAreCounted();
    void aDeadJobIsAnEvent();
    void lostAndStalledJobs();
    void reapedKeys();
    void ticks();
    void aFailingTickIsToldOnce();
    void typesDoNotGrowWithoutBound();

private:
    void end(const QString &type, const QString &kind, qint64 ms = 20)
    {
        queue::Job job;
        job.id = u"job-1"_s;
        job.type = type;
        job.attempts = 2;
        Q_EMIT m_worker->jobEnded(job, kind, ms);
    }
    bool counts(const QByteArray &line) { return m_metrics->text().contains("\n" + line + "\n"); }
    QList<QJsonObject> events()
    {
        QCoreApplication::processEvents();
        return m_seen;
    }

    FakeClock m_clock;
    std::unique_ptr<redis::RedisConnection> m_connection; // never opened
    std::unique_ptr<redis::FunctionLibrary> m_library;
    std::unique_ptr<queue::Worker> m_worker;
    std::unique_ptr<queue::JobQueue> m_queue;
    std::unique_ptr<queue::Leases> m_leases;
    std::unique_ptr<queue::LeaderLease> m_lease;
    std::unique_ptr<scheduler::Scheduler> m_scheduler;
    std::unique_ptr<app::MetricsRegistry> m_metrics;
    std::unique_ptr<app::EventBus> m_bus;
    std::unique_ptr<app::QueueWatch> m_watch;
    QList<QJsonObject> m_seen;
};

void TestQueueWatch::init()
{
    m_connection = std::make_unique<redis::RedisConnection>(redis::Endpoint());
    m_library = std::make_unique<redis::FunctionLibrary>(*m_connection, "tidekeeper_queue", QByteArray());
    m_worker = std::make_unique<queue::Worker>(u"renew"_s, redis::Endpoint(), *m_library);
    m_queue = std::make_unique<queue::JobQueue>(u"renew"_s, *m_library);
    m_leases = std::make_unique<queue::Leases>(*m_library);
    m_lease = std::make_unique<queue::LeaderLease>(*m_leases, queue::LeaderLease::Options());
    m_scheduler =
        std::make_unique<scheduler::Scheduler>(m_clock, QList<queue::JobQueue *>{m_queue.get()}, *m_lease);
    m_metrics = std::make_unique<app::MetricsRegistry>();
    m_bus = std::make_unique<app::EventBus>(m_clock);
    m_watch = std::make_unique<app::QueueWatch>(*m_metrics, *m_bus);
    m_watch->watch(u"renew"_s, *m_worker);
    m_watch->watch(*m_scheduler);
    m_seen.clear();
    connect(m_bus.get(), &app::EventBus::published, this,
            [this](const QJsonObject &event) { m_seen.append(event); });
}

void TestQueueWatch::cleanup()
{
    m_watch.reset();
    m_scheduler.reset();
    m_lease.reset();
    m_worker.reset();
    m_library.reset();
    m_connection.reset();
}

void TestQueueWatch::countersAreThereFromTheStart()
{
    for (const char *name : {"lost", "stalled", "recovered"})
        QVERIFY2(counts(QByteArray("tidekeeper_queue_jobs_") + name + "_total{queue=\"renew\"} 0"), name);
    QVERIFY(counts("tidekeeper_queue_orphan_keys_total{queue=\"renew\"} 0"));
    QVERIFY(counts("# TYPE tidekeeper_queue_jobs_lost_total counter"));
}

void TestQueueWatch::endsAreCounted()
{
    end(u"renew"_s, u"done"_s);
    end(u"renew"_s, u"done"_s, 2'000);
    end(u"renew"_s, u"retry"_s);
    end(u"scan-renewals"_s, u"taken_over"_s);
    QVERIFY(counts(R"(tidekeeper_queue_jobs_ended_total{kind="done",queue="renew",type="renew"} 2)"));
    QVERIFY(counts(R"(tidekeeper_queue_jobs_ended_total{kind="retry",queue="renew",type="renew"} 1)"));
    QVERIFY(counts(
        R"(tidekeeper_queue_jobs_ended_total{kind="taken_over",queue="renew",type="scan-renewals"} 1)"));
    QVERIFY(counts(R"(tidekeeper_queue_job_duration_seconds_count{queue="renew",type="renew"} 3)"));
    QVERIFY(counts(R"(tidekeeper_queue_job_duration_seconds_bucket{queue="renew",type="renew",le="1"} 2)"));
    QVERIFY(events().isEmpty()); // nobody is told of each job
}

void TestQueueWatch::aDeadJobIsAnEvent()
{
    end(u"renew"_s, u"dead"_s);
    QCOMPARE(events().size(), 1);
    const QJsonObject event = events().first();
    QCOMPARE(event["type"_L1].toString(), u"queue.job_dead"_s);
    QCOMPARE(event["queue"_L1].toString(), u"renew"_s);
    QCOMPARE(event["job"_L1].toString(), u"job-1"_s);
    QCOMPARE(event["job_type"_L1].toString(), u"renew"_s);
    QCOMPARE(event["attempts"_L1].toInt(), 2);
    QVERIFY(event["text"_L1].toString().contains(u"tidekeeper queue dead --queue renew"_s));
}

void TestQueueWatch::lostAndStalledJobs()
{
    QStringList many;
    for (int i = 0; i < 300; ++i)
        many.append(QString::number(i));
    Q_EMIT m_worker->jobsLost(many);
    Q_EMIT m_worker->jobsStalled({u"poison"_s});
    QVERIFY(counts("tidekeeper_queue_jobs_lost_total{queue=\"renew\"} 300"));
    QVERIFY(counts("tidekeeper_queue_jobs_stalled_total{queue=\"renew\"} 1"));
    const QList<QJsonObject> told = events();
    QCOMPARE(told.size(), 2);
    QCOMPARE(told[0]["type"_L1].toString(), u"queue.jobs_lost"_s);
    QCOMPARE(told[0]["count"_L1].toInt(), 300);
    QCOMPARE(told[0]["jobs"_L1].toArray().size(), 20);
    QCOMPARE(told[1]["type"_L1].toString(), u"queue.jobs_stalled"_s);
    QCOMPARE(told[1]["jobs"_L1].toArray(), QJsonArray{u"poison"_s});
}

void TestQueueWatch::reapedKeys()
{
    Q_EMIT m_worker->reaped(3, 1);
    QVERIFY(counts("tidekeeper_queue_orphan_keys_total{queue=\"renew\"} 3"));
    QVERIFY(counts("tidekeeper_queue_jobs_recovered_total{queue=\"renew\"} 1"));
    QCOMPARE(events().size(), 1);
    QCOMPARE(events().first()["orphan_keys"_L1].toInt(), 3);
}

void TestQueueWatch::ticks()
{
    Q_EMIT m_scheduler->fired(u"scan"_s, 1, u"added"_s);
    Q_EMIT m_scheduler->fired(u"scan"_s, 2, u"running"_s);
    Q_EMIT m_scheduler->fired(u"scan"_s, 3, u"added"_s);
    QVERIFY(counts(R"(tidekeeper_schedule_fires_total{result="added",schedule="scan"} 2)"));
    QVERIFY(counts(R"(tidekeeper_schedule_fires_total{result="running",schedule="scan"} 1)"));
    QVERIFY(events().isEmpty());
}

void TestQueueWatch::aFailingTickIsToldOnce()
{
    const auto failWith = [this](const QString &code) {
        Q_EMIT m_scheduler->fireFailed(u"scan"_s, Status::failure(code, u"It failed."_s));
    };
    failWith(u"redis_timeout"_s);
    failWith(u"redis_timeout"_s);
    QCOMPARE(events().size(), 1);
    QCOMPARE(events().first()["type"_L1].toString(), u"schedule.fire_failed"_s);
    failWith(u"functions_refused"_s);
    QCOMPARE(events().size(), 2);
    Q_EMIT m_scheduler->fired(u"scan"_s, 1, u"added"_s);
    failWith(u"functions_refused"_s);
    QCOMPARE(events().size(), 3);
    failWith(u"stale_term"_s); // another engine leads: no fault
    QCOMPARE(events().size(), 3);
    QVERIFY(counts(R"(tidekeeper_schedule_fire_failures_total{code="redis_timeout",schedule="scan"} 2)"));
    QVERIFY(counts(R"(tidekeeper_schedule_fire_failures_total{code="stale_term",schedule="scan"} 1)"));
}

void TestQueueWatch::typesDoNotGrowWithoutBound()
{
    end(u"kim@example.com"_s, u"done"_s);
    for (int i = 0; i < 150; ++i)
        end(u"type-%1"_s.arg(i), u"done"_s);
    QVERIFY(!m_metrics->text().contains("kim"));
    QVERIFY(counts(R"(tidekeeper_queue_jobs_ended_total{kind="done",queue="renew",type="type-99"} 1)"));
    QVERIFY(counts(R"(tidekeeper_queue_jobs_ended_total{kind="done",queue="renew",type="other"} 51)"));
}

QTEST_GUILESS_MAIN(TestQueueWatch)
#include "tst_queuewatch.moc"
