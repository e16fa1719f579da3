// SPDX-License-Identifier: Apache-2.0
#include "app/engine.h"

#include "app/api.h"
#include "app/engineid.h"
#include "app/statefiles.h"
#include "app/work.h"
#include "core/planner.h"
#include "log/log.h"

#include <QtCore/QDateTime>

#include <chrono>

using namespace Qt::StringLiterals;
using namespace std::chrono_literals;

namespace tidekeeper::app {

namespace {

constexpr int httpGraceMs = 2'000;
constexpr qint64 auditKeptMs = 2 * 365 * core::dayMs;
constexpr qint64 timelineKeptMs = 90 * core::dayMs;
constexpr qint64 retiredGrantKeptMs = 72 * core::hourMs;

const QString endpointFile = u"endpoint"_s; // where the command line finds this engine

Error stopping()
{
    return {u"stopping"_s, u"The engine was stopped while it started."_s, {}};
}

QCoro::Task<> prune(StoreParts &store, qint64 nowMs)
{
    const Result<> pruned = co_await store.journal.prune(nowMs - auditKeptMs, nowMs - timelineKeptMs);
    if (!pruned)
        log::warning(u"store"_s, pruned.error().text);
    const Result<qint64> shredded = co_await store.grants.shred(nowMs - retiredGrantKeptMs);
    if (!shredded)
        log::warning(u"store"_s, shredded.error().text);
}

} // namespace

Engine::Engine(config::Config config, StateDir state)
    : m_config(std::move(config)), m_state(std::move(state)), m_front(std::make_unique<Front>(m_config)),
      m_redis(m_config.redis, m_state.path(), {.needsReplica = m_config.queue.replicated}),
      m_store(databaseUrl(m_config, m_state))
{
    m_housekeeping.setInterval(1h);
    connect(&m_housekeeping, &QTimer::timeout, this, &Engine::keepHouse);
}

Engine::~Engine() = default;

QCoro::Task<Result<>> Engine::start()
{
    const Result<> bound = m_front->server.bind();
    if (!bound)
        co_return bound;
    const Result<QByteArray> token = http::adminToken(m_state.path());
    if (!token)
        co_return fail(token.error());
    m_front->tokens.add(u"admin"_s, http::Role::Admin, *token);

    const Result<> parts = co_await startParts();
    if (!parts)
        co_return parts;
    const Result<QString> id = engineId(m_state);
    if (!id)
        co_return fail(id.error());
    m_work = std::make_unique<Work>(m_config, m_redis, m_store, *id);
    co_await m_work->start();
    if (m_isStopping)
        co_return fail(stopping());

    m_api = std::make_unique<Api>(m_front->router, m_config, m_redis, m_store, *m_work);
    const Result<> listening = m_front->server.listen();
    if (!listening)
        co_return listening;
    m_housekeeping.start();
    keepHouse();
    co_return m_state.writeFile(endpointFile, url().toUtf8() + '\n');
}

/// Redis and the database.
QCoro::Task<Result<>> Engine::startParts()
{
    if (m_isStopping)
        co_return fail(stopping());
    const Result<> redis = co_await m_redis.start();
    if (m_isStopping)
        co_return fail(stopping());
    if (!redis)
        co_return redis;
    const Result<> store =
        co_await m_store.open(sealingKeyFile(m_config, m_state), QDateTime::currentMSecsSinceEpoch());
    if (m_isStopping)
        co_return fail(stopping());
    co_return store;
}

QCoro::Task<> Engine::stop()
{
    m_isStopping = true;
    m_state.removeFile(endpointFile);
    m_housekeeping.stop();
    co_await m_front->server.stop(httpGraceMs);
    if (m_work)
        co_await m_work->stop();
    co_await m_redis.stop();
}

QString Engine::url() const
{
    return m_front->server.url();
}

/// What is kept for a time only, forgotten once an hour.
void Engine::keepHouse()
{
    prune(m_store, m_work->clock.nowMs());
}

} // namespace tidekeeper::app
