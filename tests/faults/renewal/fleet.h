// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calendar.h"
#include "product.h"
#include "scale.h"
#include "support/testpostgres.h"
#include "support/testredis.h"

#include <QtCore/QTimer>

#include <array>

namespace tidekeeper::faults {

/// Two engines on one Redis and one PostgreSQL, and a simulated Google, all real processes on an accelerated calendar.
class Fleet {
public:
    static constexpr int engineCount = 2;

    explicit Fleet(const Scale &scale);
    ~Fleet();

    /// Starts all, makes the accounts at Google and imports them. Their watches lapse in 25 to 26 hours (half of them,
    /// as after a mass registration) and evenly within a week. An empty text, or what went wrong.
    QString start();

    /// Lets this much virtual time pass.
    void live(qint64 virtualMs);

    /// An empty text, or the last that it said.
    QString startEngine(int i);
    void killEngine(int i) { m_engines.at(size_t(i)).reset(); } ///< SIGKILL
    test::TestRedis &redis() { return m_redis; }
    test::TestPostgres &postgres() { return m_postgres; }

    demo::JsonAnswer google(const QString &path);
    demo::JsonAnswer google(const QString &path, const QJsonObject &body);
    demo::JsonAnswer engine(const QString &path); ///< whichever runs

    const Calendar &calendar() const { return m_calendar; }
    const Scale &scale() const { return m_scale; }

private:
    struct Engine {
        std::unique_ptr<test::Program> program;
        std::unique_ptr<demo::JsonClient> client;
        Engine() = default;
        Engine(Engine &&) = default;
        Engine &operator=(Engine &&) = default;
        ~Engine();
    };

    QString writeConfig();
    QString makeAccounts();
    void moveGoogle();
    void scan();

    Scale m_scale;
    Calendar m_calendar;
    QTemporaryDir m_folder;
    test::TestRedis m_redis;
    test::TestPostgres m_postgres;
    std::unique_ptr<test::Program> m_google;
    std::unique_ptr<demo::JsonClient> m_toGoogle;
    std::array<std::unique_ptr<Engine>, engineCount> m_engines;
    QString m_googleUrl;
    qint64 m_movedMs = 0;
    int m_lives = 0;
    QTimer m_clock;
    QTimer m_scans;
};

} // namespace tidekeeper::faults
