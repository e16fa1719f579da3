// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QJsonObject>
#include <QtCore/QMap>
#include <QtCore/QString>
#include <QtCore/QStringList>

namespace tidekeeper::config {

struct HttpConfig {
    QString listen = QStringLiteral("127.0.0.1:8787");
    QString tlsCert;
    QString tlsKey;
    bool allowPlainRemote = false;
};

struct RedisConfig {
    QString url; ///< empty = the embedded one
    QString caFile;
    QString username;
    QString passwordFile;
};

struct DatabaseConfig {
    QString url; ///< empty = SQLite in the state folder
};

struct QueueConfig {
    bool replicated = false; ///< durability: a job counts as taken up once a replica has it, too
    int leaseMs = 10'000; ///< how long a job stays with a worker that gives no sign of life
    int consumers = 2; ///< plugins' jobs that run at the same time
    int prefetch = 2; ///< plugins' jobs in hand for each of them, the running one included
};

struct ClientConfig {
    QString clientId;
    QString clientSecretFile;
};

struct ProjectConfig {
    QString projectId;
    QString topic; ///< projects/P/topics/T
    QString preset = QStringLiteral("gmail-2026");
    QJsonObject limits; ///< account_capacity, account_refill_per_minute, …, as written
    QMap<QString, ClientConfig> clients;
};

struct GoogleConfig {
    QString oauthUrl = QStringLiteral("https://oauth2.googleapis.com");
    QString gmailUrl = QStringLiteral("https://gmail.googleapis.com");
    QString fcmUrl = QStringLiteral("https://fcm.googleapis.com");
    QMap<QString, ProjectConfig> projects; ///< always has "default"
};

/// The proof that watches deliver, and Pub/Sub that pushes straight to the engine; that is off while audience is empty.
struct PushConfig {
    qint64 provenWithinMs = 120'000; ///< so long a push may take after its renewal
    qint64 brokenAfterMs = 600'000; ///< so long renewals may run without any push at all
    QString audience; ///< of the tokens that pushes carry
    QString serviceAccount; ///< whose tokens these are; set exactly when audience is
    QString certsUrl = QStringLiteral("https://www.googleapis.com/oauth2/v3/certs"); ///< a JWKS
};

struct LogConfig {
    QString level = QStringLiteral("info");
    QString format = QStringLiteral("text"); ///< or "json"
};

/// The whole of tidekeeper.toml, typed; plugin sections as JSON, checked against each plugin's schema later.
struct Config {
    HttpConfig http;
    RedisConfig redis;
    DatabaseConfig database;
    QueueConfig queue;
    GoogleConfig google;
    PushConfig push;
    LogConfig log;
    QString sealingKeyFile; ///< empty = made in the state folder
    QMap<QString, QJsonObject> plugins; ///< by plugin id: section as written, durations in milliseconds
    QStringList pluginPath;

    /// Defaults, then the file (may be empty), then TIDEKEEPER_… of the environment. Every fault is reported, each
    /// with its key, what is wrong and what to write; unknown keys with the nearest known one.
    static Result<Config> load(const QString &file, const QMap<QString, QString> &environment);
};

/// "250ms", "2s", "15m", "6h", "7d" → milliseconds; invalid_duration otherwise.
Result<qint64> parseDuration(const QString &text);

} // namespace tidekeeper::config
