// SPDX-License-Identifier: Apache-2.0
// The scheduler's part of an engine as a process of its own, put together as the engine does it, but with a lease and
// a rhythm that a test can wait for. Says what happens to it as one JSON object a line.
#include "app/redisparts.h"
#include "app/signals.h"
#include "log/log.h"
#include "queue/leaderlease.h"
#include "scheduler/redisclock.h"
#include "scheduler/scheduler.h"

#include <CLI/CLI.hpp>

#include <QtCore/QCoreApplication>
#include <QtCore/QJsonDocument>

#include <cstdio>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

struct Options {
    std::string redis;
    int leaseMs = 6'000;
    int everyMs = 1'000;
    std::vector<std::string> schedules; ///< JSON
};

void say(const QString &event, QJsonObject fields = {})
{
    fields.insert(u"event"_s, event);
    std::puts(QJsonDocument(fields).toJson(QJsonDocument::Compact).constData());
    std::fflush(stdout);
}

class Engine {
public:
    Engine(app::RedisParts &redis, const Options &options)
        : m_clock(redis.connection()), m_leases(redis.leaseFunctions()),
          m_renew(u"renew"_s, redis.queueFunctions()), m_plugins(u"plugins"_s, redis.queueFunctions()),
          m_leader(m_leases, {u"scheduler"_s, options.leaseMs, options.everyMs}),
          m_scheduler(m_clock, {&m_renew, &m_plugins}, m_leader)
    {
        QObject::connect(&m_clock, &scheduler::RedisClock::stepped, &m_scheduler, [](qint64 byMs) {
            say(u"stepped"_s, {{u"by_ms"_s, byMs}});
        });
        QObject::connect(&m_leader, &queue::LeaderLease::acquired, &m_scheduler, [](qint64 term) {
            say(u"leads"_s, {{u"term"_s, term}});
        });
        QObject::connect(&m_leader, &queue::LeaderLease::lost, &m_scheduler, [] { say(u"lost"_s); });
        QObject::connect(
            &m_scheduler, &scheduler::Scheduler::fired, &m_scheduler,
            [](const QString &id, qint64 nominalMs, const QString &result) {
                say(u"fired"_s, {{u"schedule"_s, id}, {u"nominal"_s, nominalMs}, {u"result"_s, result}});
            });
        QObject::connect(&m_scheduler, &scheduler::Scheduler::fireFailed, &m_scheduler,
                         [](const QString &id, const Status &error) {
                             say(u"refused"_s, {{u"schedule"_s, id}, {u"code"_s, error.code}});
                         });
    }

    bool start(const Options &options)
    {
        QObject::connect(&m_clock, &scheduler::RedisClock::synchronised, &m_leader,
                         &queue::LeaderLease::start);
        m_clock.start();
        for (const std::string &text : options.schedules) {
            const auto json = QJsonDocument::fromJson(QByteArray::fromStdString(text));
            if (const Status declared = m_scheduler.declare(json.object()); !declared.ok()) {
                std::fputs(qPrintable(declared.text + u'\n'), stderr);
                return false;
            }
        }
        m_scheduler.start();
        return true;
    }

    QCoro::Task<> stop()
    {
        m_scheduler.stop();
        co_await m_leader.stop();
        m_clock.stop();
        QCoreApplication::quit();
    }

private:
    scheduler::RedisClock m_clock;
    queue::Leases m_leases;
    queue::JobQueue m_renew;
    queue::JobQueue m_plugins;
    queue::LeaderLease m_leader;
    scheduler::Scheduler m_scheduler;
};

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    Options options;
    CLI::App cli("The scheduler's part of an engine.");
    cli.add_option("--redis", options.redis)->required();
    cli.add_option("--lease-ms", options.leaseMs);
    cli.add_option("--every-ms", options.everyMs, "Between two tries for the lease");
    cli.add_option("--schedule", options.schedules, "As JSON; may be repeated")->required();
    CLI11_PARSE(cli, argc, argv);

    log::setUp(log::Level::Warning, log::Format::Text);
    app::Signals signals;
    config::RedisConfig config;
    config.url = QString::fromStdString(options.redis);
    app::RedisParts redis(config, {});
    if (const Result<> up = QCoro::waitFor(redis.start()); !up) {
        std::fputs(qPrintable(up.error().text + u'\n'), stderr);
        return 1;
    }
    Engine engine(redis, options);
    QObject::connect(&signals, &app::Signals::stopRequested, &application, [&engine] { engine.stop(); });
    if (!engine.start(options))
        return 1;
    return QCoreApplication::exec();
}
