// SPDX-License-Identifier: Apache-2.0
#include "store/wavestore.h"

#include "core/outcome.h"
#include "core/planner.h"
#include "store/journal.h"
#include "store/statement.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

using core::AccountState;

namespace {

/// A restored account waits as one that met the wave itself: others show sooner whether the fault is gone.
constexpr qint64 restoredWaitMs = core::minuteMs;

const QString waveColumns = u"id, project, client, code, text, state, since, opened_at, ended_at, ended_by"_s;

Result<> run(QSqlDatabase &db, const QString &sql, const QVariantList &values)
{
    const Result<qint64> changed = change(db, sql, values);
    return changed ? Result<>() : fail(changed.error());
}

Wave waveOf(const Statement &row)
{
    return {row.integer(0), row.text(1),    row.text(2),    row.text(3),    row.text(4),
            row.text(5),    row.integer(6), row.integer(7), row.integer(8), row.text(9)};
}

Result<QStringList> idsOf(QSqlDatabase &db, const QString &sql, const QVariantList &values)
{
    Statement select(db, sql);
    if (Result<> done = select.run(values); !done)
        return fail(done.error());
    QStringList ids;
    while (select.next())
        ids.append(select.text(0));
    return ids;
}

/// Whom the failure stopped since the wave began; a stored token that was shredded or removed cannot come back.
Result<QStringList> stoppedBy(QSqlDatabase &db, const Wave &wave)
{
    return idsOf(db,
                 u"SELECT id FROM accounts WHERE project = ? AND client = ? AND state IN (?, ?)"
                 " AND state_reason = ? AND updated_at >= ? AND (grant_kind <> ?"
                 " OR EXISTS (SELECT 1 FROM grants WHERE account = accounts.id)) ORDER BY id"_s,
                 {wave.project, wave.client, core::toString(AccountState::NeedsReauth),
                  core::toString(AccountState::Parked), wave.code, wave.sinceMs,
                  core::toString(core::GrantKind::Stored)});
}

/// False when somebody changed the account since it was listed.
Result<bool> bringBack(QSqlDatabase &db, const Wave &wave, const QString &account, qint64 nowMs)
{
    const Result<qint64> marked = change(
        db,
        u"UPDATE accounts SET state = ?, state_reason = '', updated_at = ?, generation = generation + 1"
        " WHERE id = ? AND state IN (?, ?) AND state_reason = ?"_s,
        {core::toString(AccountState::Active), nowMs, account, core::toString(AccountState::NeedsReauth),
         core::toString(AccountState::Parked), wave.code});
    if (!marked || *marked == 0)
        return marked ? Result<bool>(false) : fail(marked.error());
    if (Result<> done = run(db, u"UPDATE grants SET retired_at = 0 WHERE account = ?"_s, {account}); !done)
        return fail(done.error());
    if (Result<> done = run(db, u"DELETE FROM grant_deaths WHERE account = ?"_s, {account}); !done)
        return fail(done.error());
    const Result<> due = run(db,
                             u"UPDATE subscriptions SET active = 1, error_class = ?,"
                             " next_attempt_at = ?, next_target_at = ?, due_at = ?,"
                             " generation = generation + 1 WHERE account = ?"_s,
                             {core::toString(core::OutcomeKind::Configuration), nowMs + restoredWaitMs, nowMs,
                              nowMs + restoredWaitMs, account});
    if (!due)
        return fail(due.error());
    const Result<> held = run(db,
                              u"INSERT INTO wave_members (wave, account, fingerprint, at) VALUES (?, ?,"
                              " COALESCE((SELECT fingerprint FROM grants WHERE account = ?), ''), ?)"
                              " ON CONFLICT (wave, account) DO NOTHING"_s,
                              {wave.id, account, account, nowMs});
    return held ? Result<bool>(true) : fail(held.error());
}

Result<QStringList> restored(QSqlDatabase &db, const Wave &wave, qint64 nowMs)
{
    const Result<QStringList> stopped = stoppedBy(db, wave);
    if (!stopped)
        return stopped;
    QStringList back;
    for (const QString &account : *stopped) {
        const Result<bool> isBack = bringBack(db, wave, account, nowMs);
        if (!isBack)
            return fail(isBack.error());
        if (*isBack)
            back.append(account);
    }
    return back;
}

Result<WaveStore::Opened> opened(QSqlDatabase &db, Wave wave, BreakerRow breaker)
{
    const Result<qint64> inserted =
        change(db,
               u"INSERT INTO waves (project, client, code, text, state, since, opened_at, ended_at, ended_by)"
               " VALUES (?, ?, ?, ?, 'open', ?, ?, 0, '')"
               " ON CONFLICT (project, client, code) WHERE state = 'open' DO NOTHING"_s,
               {wave.project, wave.client, wave.code, wave.text, wave.sinceMs, wave.openedAt});
    if (!inserted)
        return fail(inserted.error());
    if (*inserted == 0)
        return fail(u"conflict"_s, u"The wave is open already."_s);
    Statement select(
        db, u"SELECT id FROM waves WHERE project = ? AND client = ? AND code = ? AND state = 'open'"_s);
    if (Result<> done = select.run({wave.project, wave.client, wave.code}); !done)
        return fail(done.error());
    select.next();
    wave.id = select.integer(0);
    wave.state = u"open"_s;

    breaker.scope = waveScope(wave.id);
    if (Result<bool> stops = insertBreaker(db, breaker); !stops)
        return fail(stops.error());
    const Result<QStringList> back = restored(db, wave, wave.openedAt);
    if (!back)
        return fail(back.error());
    return WaveStore::Opened{wave, *back};
}

/// Once: false when it has ended already.
Result<bool> ended(QSqlDatabase &db, qint64 wave, const QString &state, const QString &actor, qint64 nowMs)
{
    const Result<qint64> marked = change(
        db, u"UPDATE waves SET state = ?, ended_at = ?, ended_by = ? WHERE id = ? AND state = 'open'"_s,
        {state, nowMs, actor, wave});
    if (!marked || *marked == 0)
        return marked ? Result<bool>(false) : fail(marked.error());
    if (Result<> closed = deleteBreaker(db, waveScope(wave)); !closed)
        return fail(closed.error());
    const Result<> due = run(db,
                             u"UPDATE subscriptions SET next_attempt_at = 0, generation = generation + 1,"
                             " due_at = CASE WHEN expires_at > 0 THEN next_target_at ELSE 0 END"
                             " WHERE error_code = (SELECT code FROM waves WHERE id = ?)"
                             " AND account IN (SELECT account FROM wave_members WHERE wave = ?)"_s,
                             {wave, wave});
    return due ? Result<bool>(true) : fail(due.error());
}

Result<bool> recovered(QSqlDatabase &db, qint64 wave, const QString &account, const QString &fingerprint,
                       qint64 nowMs)
{
    Statement member(db, u"SELECT 1 FROM wave_members WHERE wave = ? AND account = ? AND fingerprint = ?"_s);
    if (Result<> done = member.run({wave, account, fingerprint}); !done)
        return fail(done.error());
    return member.next() ? ended(db, wave, u"recovered"_s, {}, nowMs) : Result<bool>(false);
}

const QString selectWithMembers =
    u"SELECT "_s + waveColumns + u", (SELECT COUNT(*) FROM wave_members WHERE wave = waves.id) FROM waves"_s;

Result<Wave> confirmed(QSqlDatabase &db, qint64 id, const QString &actor, qint64 nowMs)
{
    const Result<bool> done = ended(db, id, u"confirmed"_s, actor, nowMs);
    if (!done)
        return fail(done.error());
    Statement select(db, selectWithMembers + u" WHERE id = ?"_s);
    if (Result<> read = select.run({id}); !read)
        return fail(read.error());
    if (!select.next())
        return fail(u"not_found"_s, u"There is no such wave. See tidekeeper accounts wave list."_s);
    Wave wave = waveOf(select);
    wave.members = select.integer(10);
    if (!*done)
        return fail(u"conflict"_s, u"The wave is over: it is %1."_s.arg(wave.state),
                    {{u"state"_s, wave.state}});
    const QJsonObject details{{u"project"_s, wave.project},
                              {u"client"_s, wave.client},
                              {u"code"_s, wave.code},
                              {u"members"_s, wave.members}};
    const Result<> audited = appendAudit(db, {nowMs, actor, u"wave.confirm"_s, QString::number(id), details});
    return audited ? Result<Wave>(wave) : fail(audited.error());
}

Result<QList<Wave>> wavesOf(QSqlDatabase &db, const QString &sql, const QVariantList &values,
                            bool withMembers)
{
    Statement select(db, sql);
    if (Result<> done = select.run(values); !done)
        return fail(done.error());
    QList<Wave> waves;
    while (select.next()) {
        waves.append(waveOf(select));
        if (withMembers)
            waves.last().members = select.integer(10);
    }
    return waves;
}

} // namespace

QString waveScope(qint64 wave)
{
    return u"wave\n"_s + QString::number(wave);
}

QCoro::Task<Result<QList<Wave>>> WaveStore::current(qint64 confirmedAfterMs)
{
    return m_database.run([confirmedAfterMs](QSqlDatabase &db) {
        return wavesOf(db,
                       u"SELECT "_s + waveColumns
                           + u" FROM waves WHERE state = 'open' OR (state = 'confirmed' AND ended_at > ?)"
                             " ORDER BY id"_s,
                       {confirmedAfterMs}, false);
    });
}

QCoro::Task<Result<QList<Wave>>> WaveStore::list(int limit)
{
    return m_database.run([limit](QSqlDatabase &db) {
        return wavesOf(db, selectWithMembers + u" ORDER BY id DESC LIMIT ?"_s, {limit}, true);
    });
}

QCoro::Task<Result<WaveStore::Opened>> WaveStore::open(Wave wave, BreakerRow breaker)
{
    return m_database.transaction([wave, breaker](QSqlDatabase &db) { return opened(db, wave, breaker); });
}

QCoro::Task<Result<QStringList>> WaveStore::restore(Wave wave, qint64 nowMs)
{
    return m_database.transaction([wave, nowMs](QSqlDatabase &db) { return restored(db, wave, nowMs); });
}

QCoro::Task<Result<>> WaveStore::hold(qint64 wave, QString account, QString fingerprint, qint64 nowMs)
{
    // A purged account, or a wave that is gone, holds nobody.
    return m_database.run([wave, account, fingerprint, nowMs](QSqlDatabase &db) {
        return run(db,
                   u"INSERT INTO wave_members (wave, account, fingerprint, at) SELECT waves.id, accounts.id, "
                   u"?, CAST(? AS BIGINT)"
                   " FROM waves, accounts WHERE waves.id = ? AND accounts.id = ?"
                   " ON CONFLICT (wave, account) DO UPDATE SET fingerprint = excluded.fingerprint"_s,
                   {fingerprint, nowMs, wave, account});
    });
}

QCoro::Task<Result<bool>> WaveStore::recover(qint64 wave, QString account, QString fingerprint, qint64 nowMs)
{
    return m_database.transaction([wave, account, fingerprint, nowMs](QSqlDatabase &db) {
        return recovered(db, wave, account, fingerprint, nowMs);
    });
}

QCoro::Task<Result<Wave>> WaveStore::confirm(qint64 wave, QString actor, qint64 nowMs)
{
    return m_database.transaction(
        [wave, actor, nowMs](QSqlDatabase &db) { return confirmed(db, wave, actor, nowMs); });
}

} // namespace tidekeeper::store
