// SPDX-License-Identifier: Apache-2.0
#include "store/settingsstore.h"

#include "store/accountrows.h"
#include "store/journal.h"

#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

Result<QMap<QString, QJsonObject>> read(QSqlDatabase &db, const QString &prefix)
{
    // A range, not LIKE: names may contain "_". U+FFFF sorts after every character that a name can have.
    Statement select(db, u"SELECT name, value FROM settings WHERE name >= ? AND name < ?"_s);
    if (Result<> done = select.run({prefix, prefix + QChar(0xffff)}); !done)
        return fail(done.error());
    QMap<QString, QJsonObject> settings;
    while (select.next())
        settings.insert(select.text(0), jsonOf(select.text(1)));
    return settings;
}

Result<> write(QSqlDatabase &db, const QString &name, const QJsonObject &value, const QString &actor,
               qint64 nowMs)
{
    const Result<qint64> saved =
        change(db,
               u"INSERT INTO settings (name, value, updated_at, updated_by) VALUES (?, ?, ?, ?)"
               " ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,"
               " updated_by = excluded.updated_by"_s,
               {name, compactJson(value), nowMs, actor});
    if (!saved)
        return fail(saved.error());
    return appendAudit(db, {nowMs, actor, u"setting.set"_s, name, value});
}

Result<> erase(QSqlDatabase &db, const QString &name, const QString &actor, qint64 nowMs)
{
    const Result<qint64> removed = change(db, u"DELETE FROM settings WHERE name = ?"_s, {name});
    if (!removed)
        return fail(removed.error());
    return *removed == 0 ? Result<>() : appendAudit(db, {nowMs, actor, u"setting.reset"_s, name, {}});
}

/// The statement names the text that was read, so that of two engines at the same moment only one succeeds.
Result<qint64> swap(QSqlDatabase &db, const QString &name, const std::optional<QString> &read,
                    const QJsonObject &after, const QString &actor, qint64 nowMs)
{
    if (!read) {
        return change(db,
                      u"INSERT INTO settings (name, value, updated_at, updated_by) VALUES (?, ?, ?, ?)"
                      " ON CONFLICT (name) DO NOTHING"_s,
                      {name, compactJson(after), nowMs, actor});
    }
    if (after.isEmpty())
        return change(db, u"DELETE FROM settings WHERE name = ? AND value = ?"_s, {name, *read});
    return change(
        db, u"UPDATE settings SET value = ?, updated_at = ?, updated_by = ? WHERE name = ? AND value = ?"_s,
        {compactJson(after), nowMs, actor, name, *read});
}

Result<> replaceValue(QSqlDatabase &db, const QString &name, const QJsonObject &before,
                      const QJsonObject &after, const QString &actor, qint64 nowMs)
{
    Statement select(db, u"SELECT value FROM settings WHERE name = ?"_s);
    if (Result<> done = select.run({name}); !done)
        return done;
    const std::optional<QString> present = select.next() ? std::optional(select.text(0)) : std::nullopt;
    const bool isAsExpected = jsonOf(present.value_or(QString())) == before;
    if (isAsExpected && !present && after.isEmpty())
        return {};
    Result<qint64> swapped = 0;
    if (isAsExpected)
        swapped = swap(db, name, present, after, actor, nowMs);
    if (!swapped)
        return fail(swapped.error());
    if (*swapped == 0)
        return fail(u"setting_changed"_s, u"Somebody else changed this setting at the same time."_s);
    const QString action = after.isEmpty() ? u"setting.reset"_s : u"setting.set"_s;
    return appendAudit(db, {nowMs, actor, action, name, {{u"before"_s, before}, {u"after"_s, after}}});
}

} // namespace

SettingsStore::SettingsStore(Database &database) : m_database(database) { }

QCoro::Task<Result<QMap<QString, QJsonObject>>> SettingsStore::all(QString prefix)
{
    return m_database.run([prefix](QSqlDatabase &db) { return read(db, prefix); });
}

QCoro::Task<Result<>> SettingsStore::set(QString name, QJsonObject value, QString actor, qint64 nowMs)
{
    return m_database.transaction(
        [name, value, actor, nowMs](QSqlDatabase &db) { return write(db, name, value, actor, nowMs); });
}

QCoro::Task<Result<>> SettingsStore::replace(QString name, QJsonObject before, QJsonObject after,
                                             QString actor, qint64 nowMs)
{
    return m_database.transaction([name, before, after, actor, nowMs](QSqlDatabase &db) {
        return replaceValue(db, name, before, after, actor, nowMs);
    });
}

QCoro::Task<Result<>> SettingsStore::remove(QString name, QString actor, qint64 nowMs)
{
    return m_database.transaction(
        [name, actor, nowMs](QSqlDatabase &db) { return erase(db, name, actor, nowMs); });
}

} // namespace tidekeeper::store
