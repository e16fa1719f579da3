// SPDX-License-Identifier: Apache-2.0
#include "app/pluginjobs.h"
#include "queueredis.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using app::PluginJobs;
using queue::JobOutcome;

namespace {

constexpr qint64 dayMs = 86'400'000;

/// Keeps the reply of each job, and answers at once when the test said how.
class Handler : public JobHandler {
public:
    explicit Handler(QJsonArray types, int deadlineMs = 5'000)
        : m_description{{u"types"_s, types}, {u"deadline_ms"_s, deadlineMs}}
    { }

    QJsonObject describe() const override { return m_description; }
    void run(const QJsonObject &job, Reply *reply) override
    {
        jobs.append(job);
        if (throws)
            throw std::runtime_error("broken");
        if (answer)
            reply->finish(*answer, {});
        else
            open = reply;
    }

    QList<QJsonObject> jobs;
    std::optional<Status> answer; ///< none = silent
    bool throws = false;
    Reply *open = nullptr; ///< of the last silent job

private:
    QJsonObject m_description;
};

class Undescribed final : public JobHandler {
public:
    QJsonObject describe() const override { throw std::runtime_error("broken"); }
    void run(const QJsonObject &, Reply *) override { }
};

pluginhost::Implementation<JobHandler> plugin(const QString &id, JobHandler &handler)
{
    return {id, &handler, std::make_shared<std::atomic<qint64>>(0)};
}

} // namespace

/// Job handlers of plugins, between the plugin's answer and the queue in a real Redis.
class TestPluginJobs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        m_jobs = std::make_unique<PluginJobs>();
        m_redis = std::make_unique<test::QueueRedis>();
        QVERIFY(m_redis->start());
        m_worker = std::make_unique<queue::Worker>(u"test"_s, m_redis->endpoint(), m_redis->library());
    }
    void cleanup()
    {
        QCoro::waitFor(m_worker->stop(0));
        m_jobs->giveUp();
        m_worker.reset();
    }

    void endsAsTheAnswerSays_data();
    void endsAsTheAnswerSays();
    void failuresOfOursEndAJobToo();
    void oneHandlerForEachType();
    void handsOverTheJob();
    void waitsNoLongerThanTheDeadline();
    void survivesAnException();
    void keepsJobsThatNobodyRuns();
    void givesBackAtTheStop();

private:
    void begin(Handler &handler)
    {
        QCOMPARE(m_jobs->add(plugin(u"one"_s, handler)), QStringList());
        m_jobs->serve(*m_worker);
        m_worker->start();
    }
    QByteArray jobField(const char *name) { return m_redis->field(m_job, name); }
    int jobCount(const char *counter) { return jobField(counter).toInt(); }
    QStringList places() { return m_redis->placesOf(m_job); }
    void addJob(const QString &type, const QJsonObject &payload = {})
    {
        queue::JobSpec spec;
        spec.type = type;
        spec.payload = payload;
        const Result<queue::EnqueueResult> added = QCoro::waitFor(m_redis->queue().enqueue(spec));
        QVERIFY(added);
        m_job = added->job.toUtf8();
    }

    QByteArray m_job; ///< the last one added

    std::unique_ptr<PluginJobs> m_jobs;
    std::unique_ptr<test::QueueRedis> m_redis;
    std::unique_ptr<queue::Worker> m_worker;
};

void TestPluginJobs::endsAsTheAnswerSays_data()
{
    using Kind = JobOutcome::Kind;
    QTest::addColumn<Status>("status");
    QTest::addColumn<Kind>("kind");
    QTest::addColumn<qint64>("afterMs");
    QTest::addColumn<QString>("errorClass");

    const auto row = [](const char *name, const QString &code, const QJsonObject &details, Kind kind,
                        qint64 afterMs, const QString &errorClass) {
        QTest::newRow(name) << Status{code, u"Why."_s, details} << kind << afterMs << errorClass;
    };
    row("ok", {}, {}, Kind::Done, -1, {});
    row("ok with details", {}, {{u"after_ms"_s, 5}}, Kind::Done, -1, {});
    row("retry", u"retry"_s, {}, Kind::Retry, -1, u"retry"_s);
    row("retry later", u"retry"_s, {{u"after_ms"_s, 1'500}}, Kind::Retry, 1'500, u"retry"_s);
    row("retry at once", u"retry"_s, {{u"after_ms"_s, 0}}, Kind::Retry, 0, u"retry"_s);
    row("retry of a class", u"retry"_s, {{u"class"_s, u"http_503"_s}}, Kind::Retry, -1, u"http_503"_s);
    row("defer", u"defer"_s, {{u"after_ms"_s, 60'000}}, Kind::Defer, 60'000, u"defer"_s);
    row("defer without a time", u"defer"_s, {}, Kind::Defer, -1, u"defer"_s);
    row("dead", u"dead"_s, {{u"class"_s, u"bad_payload"_s}}, Kind::Dead, -1, u"bad_payload"_s);
    row("dead without a class", u"dead"_s, {}, Kind::Dead, -1, u"dead"_s);
    row("any other code", u"limiter_unavailable"_s, {{u"after_ms"_s, 10}}, Kind::Retry, 10,
        u"limiter_unavailable"_s);
    row("its own timeout", u"timeout"_s, {}, Kind::Retry, -1, u"timeout"_s);
    row("its own stopping", u"stopping"_s, {}, Kind::Retry, -1, u"stopping"_s);
    row("a time before now", u"retry"_s, {{u"after_ms"_s, -7}}, Kind::Retry, -1, u"retry"_s);
    row("a time that is a text", u"defer"_s, {{u"after_ms"_s, u"soon"_s}}, Kind::Defer, -1, u"defer"_s);
    row("a time without end", u"defer"_s, {{u"after_ms"_s, 1e300}}, Kind::Defer, 365 * dayMs, u"defer"_s);
    row("half a millisecond", u"retry"_s, {{u"after_ms"_s, 2.5}}, Kind::Retry, 2, u"retry"_s);
    row("a class that is a number", u"dead"_s, {{u"class"_s, 4}}, Kind::Dead, -1, u"dead"_s);
    row("an empty class", u"dead"_s, {{u"class"_s, QString()}}, Kind::Dead, -1, u"dead"_s);
    row("a class without end", u"dead"_s, {{u"class"_s, QString(900, u'x')}}, Kind::Dead, -1,
        QString(64, u'x'));
}

void TestPluginJobs::endsAsTheAnswerSays()
{
    QFETCH(const Status, status);
    Result<QJsonObject> answer;
    if (!status.ok())
        answer = fail(status);
    const JobOutcome outcome = app::jobOutcomeFrom(answer);
    QTEST(outcome.kind, "kind");
    QTEST(outcome.afterMs, "afterMs");
    QTEST(outcome.errorClass, "errorClass");
    QCOMPARE(outcome.errorText, status.ok() ? QString() : status.text);
}

void TestPluginJobs::failuresOfOursEndAJobToo()
{
    const auto kindOf = [](const QString &code) {
        return app::jobOutcomeFrom(fail(code, {}, {{u"unanswered"_s, true}})).kind;
    };
    QCOMPARE(kindOf(u"timeout"_s), JobOutcome::Kind::Retry);
    QCOMPARE(kindOf(u"plugin_exception"_s), JobOutcome::Kind::Retry);
    QCOMPARE(kindOf(u"stopping"_s), JobOutcome::Kind::Release);

    const JobOutcome told = app::jobOutcomeFrom(
        fail(u"retry"_s, u"ada@example.com said \"Bearer ya29.secret\"."_s + QString(5'000, u'x')));
    QVERIFY(!told.errorText.contains("ada@example.com"_L1) && !told.errorText.contains("ya29.secret"_L1));
    QVERIFY(told.errorText.size() <= 1'000);
}

void TestPluginJobs::oneHandlerForEachType()
{
    Handler first({u"a"_s, u"b"_s});
    Handler second({u"b"_s, u"c"_s, QString(), 5});
    Handler none({});
    Undescribed undescribed;
    QCOMPARE(m_jobs->add(plugin(u"one"_s, first)), QStringList());
    QCOMPARE(m_jobs->add(plugin(u"two"_s, second)),
             QStringList{u"It does not run jobs of the type \"b\": the plugin \"one\" does already."_s});
    QCOMPARE(m_jobs->add(plugin(u"three"_s, none)).size(), 1);
    QCOMPARE(m_jobs->add(plugin(u"four"_s, undescribed)).size(), 1);
    QCOMPARE(m_jobs->types(), (QStringList{u"a"_s, u"b"_s, u"c"_s}));

    first.answer = second.answer = Status::success();
    m_jobs->serve(*m_worker);
    m_worker->start();
    for (const QString &type : {u"a"_s, u"b"_s, u"c"_s})
        addJob(type);
    QTRY_COMPARE(first.jobs.size() + second.jobs.size(), 3);
    QCOMPARE(first.jobs.size(), 2);
    QCOMPARE(second.jobs.first().value("type"_L1), u"c"_s);
}

void TestPluginJobs::handsOverTheJob()
{
    Handler handler({u"work"_s});
    handler.answer = Status::failure(u"retry"_s, u"Not yet."_s, {{u"after_ms"_s, 0}});
    begin(handler);
    addJob(u"work"_s, {{u"name"_s, u"Ada"_s}});
    QTRY_COMPARE(handler.jobs.size(), 1);
    const QJsonObject expected{{u"id"_s, QString::fromUtf8(m_job)},
                               {u"type"_s, u"work"_s},
                               {u"payload"_s, QJsonObject{{u"name"_s, u"Ada"_s}}},
                               {u"attempt"_s, 1},
                               {u"deferrals"_s, 0}};
    QCOMPARE(handler.jobs.first(), expected);
    handler.answer = Status::failure(u"defer"_s, u"Full."_s, {{u"after_ms"_s, 0}});
    QTRY_VERIFY(handler.jobs.size() >= 3);
    handler.answer = Status::success();
    QCOMPARE(handler.jobs.at(1).value("attempt"_L1), 2);
    QVERIFY(handler.jobs.at(2).value("deferrals"_L1) == 1 || handler.jobs.at(2).value("attempt"_L1) == 3);
    QTRY_COMPARE(places(), QStringList());
    QCOMPARE(m_redis->integer({"ZCARD", test::QueueRedis::key("dead")}), 0);
}

void TestPluginJobs::waitsNoLongerThanTheDeadline()
{
    Handler handler({u"work"_s}, 50);
    const auto offered = plugin(u"one"_s, handler);
    m_jobs->add(offered);
    m_jobs->serve(*m_worker);
    m_worker->start();
    addJob(u"work"_s);
    QTRY_COMPARE(jobCount("attempts"), 1);
    QCOMPARE(jobField("error_class"), "timeout");
    QCOMPARE(places(), QStringList{u"delayed"_s});
    // The reply is the plugin's until it finishes it, and nobody minds that it does.
    QVERIFY(handler.open->isAbandoned());
    QCOMPARE(offered.lateAnswers->load(), 0);
    handler.open->finish(Status::success(), {});
    QCOMPARE(offered.lateAnswers->load(), 1);
    QCOMPARE(places(), QStringList{u"delayed"_s});
}

void TestPluginJobs::survivesAnException()
{
    Handler handler({u"work"_s});
    handler.throws = true;
    begin(handler);
    addJob(u"work"_s);
    QTRY_COMPARE(jobField("error_class"), "plugin_exception");
    QCOMPARE(jobCount("attempts"), 1);
    QVERIFY(jobField("error_text").contains("broken"));
}

void TestPluginJobs::keepsJobsThatNobodyRuns()
{
    Handler handler({u"work"_s});
    begin(handler);
    addJob(u"of-a-removed-plugin"_s);
    QTRY_COMPARE(jobCount("deferrals"), 1);
    QCOMPARE(jobField("error_class"), "no_handler");
    QCOMPARE(jobCount("attempts"), 0);
    QCOMPARE(places(), QStringList{u"delayed"_s});
    QVERIFY(handler.jobs.isEmpty());
}

void TestPluginJobs::givesBackAtTheStop()
{
    Handler handler({u"work"_s}, 60'000);
    begin(handler);
    addJob(u"work"_s);
    QTRY_VERIFY(handler.open);
    QCOMPARE(jobCount("starts"), 1);
    QCoro::waitFor(m_worker->stop(10));
    m_jobs->giveUp();
    QTRY_VERIFY(handler.open->isAbandoned());
    QCOMPARE(places(), QStringList{u"waiting"_s});
    QCOMPARE(jobCount("starts"), 0);
    QCOMPARE(jobCount("attempts"), 0);
    handler.open->finish(Status::success(), {}); // too late to count
    QCOMPARE(places(), QStringList{u"waiting"_s});
}

QTEST_GUILESS_MAIN(TestPluginJobs)
#include "tst_pluginjobs.moc"
