// SPDX-License-Identifier: Apache-2.0
#include "store/migrations.h"

#include "store/dialect.h"
#include "store/statement.h"

#include <QtCore/QDateTime>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

// One function per version. A published one is never edited: a change is a new version.
// Instants are epoch milliseconds UTC, 0 = never or unknown; no column is NULL.
//   accounts.nearest_expires_at  the least expires_at of its subscriptions: band, sort and filter without a join
//   subscriptions.active         1 while the account's state is active: the scan reads one small index
//   subscriptions.due_at         core::dueAt() of the row
//   grants                       at most one per account; retired_at > 0 = no longer used, kept to be restored
//   breakers                     the open ones, shared by all engines; scope as renewal::Breakers names them
//   waves                        suspicions that many grants seemed lost at once: open, confirmed, recovered
//   wave_members                 the accounts that a wave put on hold, with the grant that they had
//   pushes                       the newest proof that a watch delivers, and what was done about its silence
//   coverage                     account-time of each hour (epoch hours), how much of it had no live watch, and up to
//                                which instant it is counted
//   pace                         one row: how much of a backlog may be begun, and what was pulled forward
//   lapses                       the newest lapse of an account that was told, by the expiry that passed
//   grant_deaths                 how old the grants were that Google ended; outlives the grant by weeks
//   grant_hints                  which client's short-lived grants were told of, and when
QStringList version1()
{
    return {
        u"CREATE TABLE accounts (id {key} PRIMARY KEY, email {key} NOT NULL, project {key} NOT NULL,"
        " client {key} NOT NULL, language TEXT NOT NULL, state {key} NOT NULL, state_reason TEXT NOT NULL,"
        " grant_kind {key} NOT NULL, grant_data TEXT NOT NULL, nearest_expires_at BIGINT NOT NULL,"
        " created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, generation BIGINT NOT NULL)"_s,
        u"CREATE INDEX accounts_expiry ON accounts (nearest_expires_at, id)"_s,
        u"CREATE INDEX accounts_state ON accounts (state, nearest_expires_at, id)"_s,
        u"CREATE INDEX accounts_email ON accounts (email, id)"_s,

        u"CREATE TABLE grants (account {key} PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,"
        " key_id TEXT NOT NULL, sealed TEXT NOT NULL, fingerprint TEXT NOT NULL, client TEXT NOT NULL,"
        " issued_at BIGINT NOT NULL, retired_at BIGINT NOT NULL)"_s,
        u"CREATE INDEX grants_retired ON grants (retired_at) WHERE retired_at > 0"_s,

        u"CREATE TABLE subscriptions (id {key} PRIMARY KEY,"
        " account {key} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE, provider {key} NOT NULL,"
        " resource TEXT NOT NULL, external_id TEXT NOT NULL, expires_at BIGINT NOT NULL,"
        " last_success_at BIGINT NOT NULL, next_target_at BIGINT NOT NULL, next_attempt_at BIGINT NOT NULL,"
        " due_at BIGINT NOT NULL, attempts INTEGER NOT NULL, deferrals INTEGER NOT NULL,"
        " error_class TEXT NOT NULL, error_code TEXT NOT NULL, error_text TEXT NOT NULL, error_at BIGINT NOT "
        "NULL,"
        " data TEXT NOT NULL, active SMALLINT NOT NULL, generation BIGINT NOT NULL)"_s,
        u"CREATE INDEX subscriptions_account ON subscriptions (account, provider)"_s,
        u"CREATE INDEX subscriptions_due ON subscriptions (active, due_at, expires_at, id)"_s,

        u"CREATE TABLE devices (id {key} PRIMARY KEY,"
        " account {key} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE, key_id TEXT NOT NULL,"
        " sealed TEXT NOT NULL, fingerprint {key} NOT NULL UNIQUE, platform TEXT NOT NULL,"
        " language TEXT NOT NULL, last_seen_at BIGINT NOT NULL)"_s,
        u"CREATE INDEX devices_account ON devices (account, id)"_s,

        u"CREATE TABLE settings (name {key} PRIMARY KEY, value TEXT NOT NULL, updated_at BIGINT NOT NULL,"
        " updated_by TEXT NOT NULL)"_s,

        u"CREATE TABLE audit (id {serial}, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,"
        " target TEXT NOT NULL, details TEXT NOT NULL)"_s,
        u"CREATE INDEX audit_at ON audit (at)"_s,

        u"CREATE TABLE timeline (id {serial},"
        " account {key} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE, at BIGINT NOT NULL,"
        " kind TEXT NOT NULL, details TEXT NOT NULL)"_s,
        u"CREATE INDEX timeline_account ON timeline (account, id)"_s,
        u"CREATE INDEX timeline_at ON timeline (at)"_s,
    };
}

QStringList version2()
{
    return {
        u"CREATE TABLE breakers (scope {key} PRIMARY KEY, fault TEXT NOT NULL, opened_at BIGINT NOT NULL,"
        " delay_ms BIGINT NOT NULL, probe_at BIGINT NOT NULL, probing SMALLINT NOT NULL,"
        " generation BIGINT NOT NULL)"_s,

        u"CREATE TABLE waves (id {serial}, project {key} NOT NULL, client {key} NOT NULL,"
        " code {key} NOT NULL, text TEXT NOT NULL, state {key} NOT NULL, since BIGINT NOT NULL,"
        " opened_at BIGINT NOT NULL, ended_at BIGINT NOT NULL, ended_by TEXT NOT NULL)"_s,
        u"CREATE UNIQUE INDEX waves_open ON waves (project, client, code) WHERE state = 'open'"_s,
        u"CREATE TABLE wave_members (wave BIGINT NOT NULL REFERENCES waves (id) ON DELETE CASCADE,"
        " account {key} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,"
        " fingerprint TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (wave, account))"_s,

        u"CREATE TABLE pushes (account {key} PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,"
        " last_push_at BIGINT NOT NULL, history_id TEXT NOT NULL,"
        " repaired_at BIGINT NOT NULL, told_at BIGINT NOT NULL)"_s,

        u"CREATE TABLE coverage (hour BIGINT PRIMARY KEY, active_ms BIGINT NOT NULL,"
        " lapsed_ms BIGINT NOT NULL, sampled_to BIGINT NOT NULL)"_s,
        u"CREATE TABLE pace (id INTEGER PRIMARY KEY, level_milli BIGINT NOT NULL, level_at BIGINT NOT NULL,"
        " pulled_milli_per_hour BIGINT NOT NULL, pulled_until BIGINT NOT NULL)"_s,
        u"CREATE TABLE lapses (account {key} PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,"
        " expires_at BIGINT NOT NULL, noticed_at BIGINT NOT NULL)"_s,

        u"CREATE TABLE grant_deaths (account {key} PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,"
        " project {key} NOT NULL, client {key} NOT NULL, issued_at BIGINT NOT NULL,"
        " last_success_at BIGINT NOT NULL, died_at BIGINT NOT NULL)"_s,
        u"CREATE INDEX grant_deaths_at ON grant_deaths (died_at)"_s,
        u"CREATE TABLE grant_hints (project {key} NOT NULL, client {key} NOT NULL, told_at BIGINT NOT NULL,"
        " PRIMARY KEY (project, client))"_s,
    };
}

const QList<QStringList> &versions()
{
    static const QList<QStringList> list{version1(), version2()};
    return list;
}

Result<int> currentVersion(QSqlDatabase &db)
{
    Statement latest(db, u"SELECT COALESCE(MAX(version), 0) FROM schema_versions"_s);
    if (Result<> read = latest.run(); !read)
        return fail(read.error());
    latest.next();
    return static_cast<int>(latest.integer(0));
}

Result<> apply(QSqlDatabase &db, int version)
{
    for (const QString &ddl : versions().at(version - 1)) {
        if (Result<qint64> made = change(db, adapted(db, ddl)); !made)
            return fail(made.error());
    }
    const Result<qint64> noted =
        change(db, u"INSERT INTO schema_versions (version, applied_at) VALUES (?, ?)"_s,
               {version, QDateTime::currentMSecsSinceEpoch()});
    return noted ? Result<>() : fail(noted.error());
}

Result<> migrateLocked(QSqlDatabase &db)
{
    if (Result<> locked = lockMigrations(db); !locked)
        return locked;
    const auto table = u"CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY,"
                       " applied_at BIGINT NOT NULL)"_s;
    if (Result<qint64> made = change(db, table); !made)
        return fail(made.error());
    const Result<int> current = currentVersion(db);
    if (!current)
        return fail(current.error());
    if (*current > schemaVersion()) {
        return fail(
            u"database_too_new"_s,
            u"The database has schema version %1, this engine knows %2: a newer engine has used it. Install "
            u"that version again, or restore the backup made before the upgrade."_s.arg(*current)
                .arg(schemaVersion()),
            {{u"database_version"_s, *current}, {u"known_version"_s, schemaVersion()}});
    }
    for (int version = *current + 1; version <= schemaVersion(); ++version) {
        if (Result<> applied = apply(db, version); !applied)
            return applied;
    }
    return {};
}

} // namespace

int schemaVersion()
{
    return static_cast<int>(versions().size());
}

Result<> migrate(QSqlDatabase &db)
{
    if (Result<> begun = beginTransaction(db); !begun)
        return begun;
    Result<> migrated = migrateLocked(db);
    if (!migrated) {
        db.rollback();
        return migrated;
    }
    if (!db.commit())
        return fail(statementFailure(db, db.lastError()));
    return {};
}

} // namespace tidekeeper::store
