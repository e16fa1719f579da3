// SPDX-License-Identifier: Apache-2.0
#include "plan.h"
#include "queue/worker.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QEventLoop>

#include <cstdio>
#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace bench {

namespace {

constexpr int graceMs = 5'000;

queue::WorkerOptions optionsOf(const Plan &plan)
{
    queue::WorkerOptions options;
    options.consumers = plan.consumers;
    options.prefetch = plan.prefetch;
    options.leaseMs = plan.leaseMs;
    options.heartbeatMs = std::min(options.heartbeatMs, plan.leaseMs / 3);
    return options;
}

QCoro::Task<queue::JobOutcome> nothingToDo(queue::Job)
{
    co_return queue::JobOutcome{};
}

QCoro::Task<queue::JobOutcome> neverEnding(queue::Job)
{
    std::printf("started %lld\n", static_cast<long long>(monotonicUs()));
    co_await QCoro::sleepFor(std::chrono::hours(1));
    co_return queue::JobOutcome{};
}

void sayReadyWhenTaking(queue::Worker &worker)
{
    while (!worker.isTaking())
        QCoro::waitFor(QCoro::sleepFor(std::chrono::milliseconds(1)));
    std::puts("ready");
}

void printList(const char *name, const QList<qint64> &values, const char *after)
{
    std::printf("\"%s\": [", name);
    for (qsizetype i = 0; i < values.size(); ++i)
        std::printf(i == 0 ? "%lld" : ",%lld", static_cast<long long>(values[i]));
    std::printf("]%s", after);
}

} // namespace

void drain(const Plan &plan)
{
    Link link(plan);
    queue::Worker worker(plan.queue, link.endpoint, link.library, optionsOf(plan));
    worker.handle(u"bench"_s, nothingToDo);
    QEventLoop loop;
    int ended = 0;
    std::optional<Stopwatch> watch;
    QString otherEnd;
    QObject::connect(&worker, &queue::Worker::jobEnded, [&](const queue::Job &, const QString &kind) {
        if (kind != u"done") {
            otherEnd = kind;
            loop.quit();
            return;
        }
        ++ended;
        if (ended == plan.warm)
            watch.emplace();
        if (ended == plan.warm + plan.count) {
            watch->print(plan.count);
            loop.quit();
        }
    });
    if (plan.warm == 0)
        watch.emplace();
    worker.start();
    loop.exec();
    QCoro::waitFor(worker.stop(graceMs));
    if (!otherEnd.isEmpty())
        throw std::runtime_error("a job ended as " + otherEnd.toStdString());
}

void consume(const Plan &plan)
{
    Link link(plan);
    queue::Worker worker(plan.queue, link.endpoint, link.library, optionsOf(plan));
    QEventLoop loop;
    QList<qint64> fromDue;
    QList<qint64> fromSent;
    const auto handler = [&](queue::Job job) { // no coroutine itself: it only makes one
        const qint64 nowUs = monotonicUs();
        fromDue.append(nowUs - job.payload[u"due"].toInteger());
        fromSent.append(nowUs - job.payload[u"sent"].toInteger());
        if (fromDue.size() == plan.count)
            loop.quit();
        return nothingToDo(std::move(job));
    };
    worker.handle(u"bench"_s, handler);
    worker.start();
    sayReadyWhenTaking(worker);
    loop.exec();
    QCoro::waitFor(worker.stop(graceMs));
    std::printf("{");
    printList("fromDue", fromDue, ", ");
    printList("fromSent", fromSent, "}\n");
}

void hold(const Plan &plan)
{
    Link link(plan);
    queue::Worker worker(plan.queue, link.endpoint, link.library, optionsOf(plan));
    worker.handle(u"bench"_s, neverEnding);
    worker.start();
    sayReadyWhenTaking(worker);
    QEventLoop().exec(); // until it is killed
}

} // namespace bench
