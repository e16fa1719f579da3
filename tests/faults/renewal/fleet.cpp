// SPDX-License-Identifier: Apache-2.0
#include "fleet.h"

#include <QCoro/QCoroTask>
#include <QtCore/QEventLoop>
#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>

#include <chrono>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr int clockEveryMs = 50;
constexpr int scanEveryMs = 500;
constexpr qint64 hourMs = 3'600'000;

} // namespace

Fleet::Engine::~Engine()
{
    if (program)
        program->kill();
}

Fleet::Fleet(const Scale &scale)
    : m_scale(scale), m_calendar(scale.realDayMs), m_redis({u"--appendonly"_s, u"yes"_s})
{
    qputenv("TIDEKEEPER_CLOCK", m_calendar.variable());
    QObject::connect(&m_clock, &QTimer::timeout, &m_clock, [this] { moveGoogle(); });
    QObject::connect(&m_scans, &QTimer::timeout, &m_scans, [this] { scan(); });
}

Fleet::~Fleet()
{
    qunsetenv("TIDEKEEPER_CLOCK");
}

QString Fleet::start()
{
    if (!m_redis.start() || !m_postgres.start())
        return u"Redis or PostgreSQL does not start"_s;
    m_google = std::make_unique<test::Program>(
        u"tidekeeper-google-sim"_s, QStringList{u"--listen"_s, u"127.0.0.1:0"_s, u"--latency-ms"_s, u"5"_s},
        m_folder.filePath(u"google.log"_s));
    m_googleUrl = m_google->waitListening();
    m_toGoogle = std::make_unique<demo::JsonClient>(m_googleUrl);
    // Tokens last an hour of the calendar of the engines, whose memory of them goes by the real clock.
    const QJsonObject settings{{u"user_limit_per_minute"_s, 1'000'000'000},
                               {u"project_limit_per_minute"_s, 1'000'000'000},
                               {u"token_lifetime_s"_s, 3'600 * m_calendar.speed()}};
    if (const demo::JsonAnswer set = google(u"/sim/settings"_s, settings); !set.good())
        return u"the simulator's settings: "_s + set.sentence();
    if (const QString problem = writeConfig(); !problem.isEmpty())
        return problem;
    m_clock.start(clockEveryMs);
    for (int i = 0; i < engineCount; ++i) {
        if (const QString problem = startEngine(i); !problem.isEmpty())
            return problem;
    }
    if (const QString problem = makeAccounts(); !problem.isEmpty())
        return problem;
    m_scans.start(scanEveryMs);
    return {};
}

QString Fleet::writeConfig()
{
    QFile secret(m_folder.filePath(u"client-secret"_s));
    QFile config(m_folder.filePath(u"tidekeeper.toml"_s));
    if (!secret.open(QIODevice::WriteOnly) || !config.open(QIODevice::WriteOnly))
        return u"the configuration cannot be written"_s;
    secret.write("sim-secret");
    QFile key(m_folder.filePath(u"sealing.key"_s));
    if (!key.open(QIODevice::WriteOnly, QFile::ReadOwner | QFile::WriteOwner)
        || key.write(QByteArray(64, '7')) != 64)
        return u"the sealing key cannot be written"_s;
    const QString text = uR"(sealing_key_file = "%1/sealing.key"
[redis]
url = "%2"
[database]
url = "%3"
[google]
oauth_url = "%4"
gmail_url = "%4"
[google.projects.default]
project_id = "sim-project"
topic = "projects/sim-project/topics/gmail"
preset = "custom"
account_capacity = 1_000_000
account_refill_per_minute = 1_000_000
project_capacity = 1_000_000_000
project_refill_per_minute = 1_000_000_000
published_account = 0
published_project = 0
[google.projects.default.clients.default]
client_id = "sim-client"
client_secret_file = "%1/client-secret"
[plugins.watch-renewal]
consumers = %5
batch_size = %6
)"_s.arg(m_folder.path(), m_redis.url(), m_postgres.url(), m_googleUrl)
                             .arg(m_scale.consumers)
                             .arg(m_scale.batch);
    config.write(text.toUtf8());
    return {};
}

QString Fleet::startEngine(int i)
{
    auto engine = std::make_unique<Engine>();
    const QString state = m_folder.filePath(u"engine-%1"_s.arg(i));
    engine->program =
        std::make_unique<test::Program>(u"tidekeeperd"_s,
                                        QStringList{u"--config"_s, m_folder.filePath(u"tidekeeper.toml"_s),
                                                    u"--state-dir"_s, state, u"--listen"_s, u"127.0.0.1:0"_s},
                                        m_folder.filePath(u"engine-%1-%2.log"_s.arg(i).arg(m_lives++)));
    const QString url = engine->program->waitListening();
    QFile token(state + u"/admin.token"_s);
    if (url.isEmpty() || !token.open(QIODevice::ReadOnly))
        return u"engine %1 does not start: %2"_s.arg(i).arg(
            QString::fromUtf8(engine->program->log().trimmed().split('\n').last()));
    engine->client = std::make_unique<demo::JsonClient>(url, token.readAll().trimmed());
    m_engines.at(size_t(i)) = std::move(engine);
    return {};
}

QString Fleet::makeAccounts()
{
    const auto make = [this](const QString &prefix, int count, qint64 first, qint64 last) -> QString {
        constexpr int page = 500; // the answer of the simulator and one import are of this size
        for (int done = 0; done < count; done += page) {
            const QJsonObject wanted{{u"prefix"_s, prefix + QString::number(done) + u'-'},
                                     {u"count"_s, std::min(page, count - done)},
                                     {u"watch_expires_in_ms"_s, first},
                                     {u"watch_expires_in_ms_last"_s, last}};
            const demo::JsonAnswer made = google(u"/sim/accounts"_s, wanted);
            QByteArray lines;
            for (const QJsonValue &account : made.body["accounts"_L1].toArray())
                lines += QJsonDocument(account.toObject()).toJson(QJsonDocument::Compact) + '\n';
            const demo::JsonAnswer imported = QCoro::waitFor(
                m_engines.front()->client->post(u"/api/v1/accounts/import"_s, lines, "application/x-ndjson"));
            if (!imported.good() || !imported.body["errors"_L1].toArray().isEmpty())
                return u"the import: "_s + imported.sentence();
        }
        return {};
    };
    const int clustered = m_scale.accounts / 2;
    const QString problem = make(u"cluster-"_s, clustered, 25 * hourMs, 26 * hourMs);
    return problem.isEmpty() ? make(u"even-"_s, m_scale.accounts - clustered, 2 * hourMs, 7 * virtualDayMs)
                             : problem;
}

void Fleet::live(qint64 virtualMs)
{
    QEventLoop loop;
    QTimer::singleShot(std::chrono::milliseconds(virtualMs / m_calendar.speed()), &loop, &QEventLoop::quit);
    loop.exec();
}

/// Nobody waits for the answer: a simulator that is slow for a moment must not stop everything else.
void Fleet::moveGoogle()
{
    const qint64 byMs = m_calendar.aheadMs() - m_movedMs;
    m_movedMs += byMs;
    m_toGoogle->post(u"/sim/clock"_s, {{u"advance_ms"_s, byMs}});
}

/// The scan of each minute: on this calendar a minute is shorter than a scan, so that it is asked for.
void Fleet::scan()
{
    for (const auto &engine : m_engines) {
        if (engine) {
            engine->client->post(u"/api/v1/schedules/renewal-scan/run"_s, QJsonObject());
            return;
        }
    }
}

demo::JsonAnswer Fleet::google(const QString &path)
{
    return QCoro::waitFor(m_toGoogle->get(path));
}

demo::JsonAnswer Fleet::google(const QString &path, const QJsonObject &body)
{
    return QCoro::waitFor(m_toGoogle->post(path, body));
}

demo::JsonAnswer Fleet::engine(const QString &path)
{
    for (const auto &engine : m_engines) {
        if (engine)
            return QCoro::waitFor(engine->client->get(path));
    }
    return {};
}

} // namespace tidekeeper::faults
