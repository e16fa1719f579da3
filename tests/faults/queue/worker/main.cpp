// SPDX-License-Identifier: Apache-2.0
// A worker of the queue as a process of its own, with a handler that behaves as the payload says. SIGTERM drains.
#include "journal.h"
#include "queue/jobqueue.h"
#include "queue/worker.h"

#include <CLI/CLI.hpp>
#include <QCoro/QCoroTimer>
#include <QtCore/QCoreApplication>
#include <QtCore/QSocketNotifier>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include <sys/signalfd.h>
#include <unistd.h>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::faults;
using queue::Job;
using queue::JobOutcome;

namespace {

constexpr int againMs = 20; ///< after a failure or deferral

struct Handlers {
    QHash<QString, int> released; ///< how often, by job
    int atWork = 0;
};

QCoro::Task<JobOutcome> handle(Journal *journal, Handlers *handlers, Job job)
{
    const auto number = [&job](const QString &name) { return job.payload.value(name).toInt(); };
    using Kind = JobOutcome::Kind;
    journal->write("started", job.id.toUtf8(), number(u"number"_s), job.attempts + job.deferrals,
                   QByteArray::number(job.starts));
    if (job.starts <= number(u"dies_at"_s))
        ::kill(::getpid(), SIGKILL);
    const int ms = job.starts == 1 && number(u"hangs"_s) > 0 ? number(u"hangs"_s) : number(u"work"_s);
    ++handlers->atWork;
    co_await QCoro::sleepFor(std::chrono::milliseconds(ms));
    --handlers->atWork;
    JobOutcome outcome;
    if (job.deferrals < number(u"defers"_s))
        outcome = {Kind::Defer, againMs, u"throttled"_s, u"The payload wants to be deferred."_s};
    else if (job.attempts < number(u"fails"_s))
        outcome = {Kind::Retry, againMs, u"failed"_s, u"The payload wants to fail."_s};
    else if (handlers->released.value(job.id) < number(u"releases"_s))
        outcome = {Kind::Release, -1, {}, {}};
    else if (job.payload.value(u"hopeless"_s).toBool())
        outcome = {Kind::Dead, -1, u"hopeless"_s, u"The payload wants to be a dead letter."_s};
    if (outcome.kind == Kind::Release)
        ++handlers->released[job.id];
    co_return outcome;
}

QCoro::Task<> drain(queue::Worker *worker, const Handlers *handlers, int graceMs)
{
    co_await worker->stop(graceMs);
    if (handlers->atWork > 0) // the frames of those that never came back are not a leak to be told
        std::_Exit(0);
    QCoreApplication::exit(0);
}

/// Blocked for all threads, so that it arrives where the event loop reads it.
int openSignal()
{
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

} // namespace

int main(int argc, char **argv)
{
    const int signalFile = openSignal();
    QCoreApplication application(argc, argv);
    CLI::App cli("A worker process that behaves as payloads say.");
    std::string url, name, file;
    queue::WorkerOptions options;
    int graceMs = 5'000;
    cli.add_option("--redis", url)->required();
    cli.add_option("--queue", name)->required();
    cli.add_option("--journal", file)->required();
    cli.add_option("--lease-ms", options.leaseMs);
    cli.add_option("--heartbeat-ms", options.heartbeatMs);
    cli.add_option("--consumers", options.consumers);
    cli.add_option("--prefetch", options.prefetch);
    cli.add_option("--max-starts", options.maxStarts);
    cli.add_option("--longest-run-ms", options.longestRunMs);
    cli.add_option("--longest-wait-ms", options.longestWaitMs);
    cli.add_option("--reap-ms", options.reapMs);
    cli.add_option("--grace-ms", graceMs);
    CLI11_PARSE(cli, argc, argv);

    Journal journal(QString::fromStdString(file));
    const auto endpoint = redis::Endpoint::fromUrl(QString::fromStdString(url));
    if (!endpoint)
        qFatal("--redis is no URL of a Redis.");
    redis::RedisConnection connection(*endpoint);
    redis::FunctionLibrary library(connection, "tidekeeper_queue", queue::libraryCode());
    queue::Worker worker(QString::fromStdString(name), *endpoint, library, options);
    Handlers handlers;
    worker.handle(u"work"_s, [&](Job job) { return handle(&journal, &handlers, std::move(job)); });
    QObject::connect(&worker, &queue::Worker::jobEnded, [&](const Job &job, const QString &kind) {
        journal.write("ended", job.id.toUtf8(), job.payload.value(u"number"_s).toInt(),
                      job.attempts + job.deferrals, kind.toUtf8());
    });
    QObject::connect(&worker, &queue::Worker::jobsStalled, [&](const QStringList &ids) {
        for (const QString &id : ids)
            journal.write("stalled", id.toUtf8());
    });
    QObject::connect(&worker, &queue::Worker::jobsLost, [&](const QStringList &ids) {
        for (const QString &id : ids)
            journal.write("lost", id.toUtf8());
    });

    QSocketNotifier onSignal(signalFile, QSocketNotifier::Read);
    QObject::connect(&onSignal, &QSocketNotifier::activated, [&] {
        onSignal.setEnabled(false);
        drain(&worker, &handlers, graceMs);
    });
    QObject::connect(&connection, &redis::RedisConnection::ready, [&] { journal.write("ready"); });
    connection.open();
    worker.start();
    return QCoreApplication::exec();
}
