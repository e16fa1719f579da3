// SPDX-License-Identifier: Apache-2.0
#include "store/devicestore.h"

#include "core/account.h"
#include "store/accountwriter.h"
#include "store/dialect.h"
#include "store/statement.h"

#include <QtCore/QUuid>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

using core::AccountState;

namespace {

Result<QList<Device>> devicesOf(QSqlDatabase &db, const QString &account)
{
    Statement accounts(db, u"SELECT a.id FROM accounts a WHERE a.id = ?"_s);
    if (Result<> read = accounts.run({account}); !read)
        return fail(read.error());
    if (!accounts.next())
        return noSuchAccount();
    Statement select(db,
                     u"SELECT id, platform, language, last_seen_at, sealed, key_id FROM devices"
                     " WHERE account = ? ORDER BY last_seen_at DESC, id"_s);
    if (Result<> read = select.run({account}); !read)
        return fail(read.error());
    QList<Device> devices;
    while (select.next()) {
        devices.append({select.text(0), select.text(1), select.text(2), select.integer(3),
                        QByteArray::fromBase64(select.text(4).toLatin1()), select.text(5)});
    }
    return devices;
}

// Locks the account, so that it cannot leave before the device is stored.
Result<> mayGetDevices(QSqlDatabase &db, const QString &account)
{
    Statement select(db, u"SELECT a.state FROM accounts a WHERE a.id = ?"_s + lockOf(db));
    if (Result<> read = select.run({account}); !read)
        return read;
    if (!select.next())
        return noSuchAccount();
    const QString leaving = core::toString(AccountState::Leaving);
    if (select.text(0) == leaving)
        return fail(u"conflict"_s,
                    u"The account is leaving: a PUT calls it back, then it may have devices."_s,
                    {{u"state"_s, leaving}});
    return {};
}

QString sealedText(const DeviceChange &change)
{
    return QString::fromLatin1(change.sealedToken.toBase64());
}

Result<qint64> markSeen(QSqlDatabase &db, const DeviceChange &change, qint64 nowMs)
{
    QString sql = u"UPDATE devices SET key_id = ?, sealed = ?, last_seen_at = ?"_s;
    QVariantList values{change.keyId, sealedText(change), nowMs};
    if (change.platform) {
        sql += u", platform = ?"_s;
        values.append(*change.platform);
    }
    if (change.language) {
        sql += u", language = ?"_s;
        values.append(*change.language);
    }
    values.append(change.fingerprint);
    return store::change(db, sql + u" WHERE fingerprint = ?"_s, values);
}

Result<bool> registered(QSqlDatabase &db, const QString &account, const DeviceChange &change, qint64 nowMs)
{
    if (Result<> may = mayGetDevices(db, account); !may)
        return fail(may.error());
    const Result<qint64> seen = markSeen(db, change, nowMs);
    if (!seen)
        return fail(seen.error());
    if (*seen > 0)
        return false;
    const Result<qint64> added =
        store::change(db,
                      u"INSERT INTO devices (id, account, key_id, sealed, fingerprint, platform, language,"
                      " last_seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"_s,
                      {QUuid::createUuid().toString(QUuid::WithoutBraces), account, change.keyId,
                       sealedText(change), change.fingerprint, change.platform.value_or(QString()),
                       change.language.value_or(QString()), nowMs});
    if (!added)
        return fail(added.error());
    return true;
}

} // namespace

DeviceStore::DeviceStore(Database &database) : m_database(database) { }

QCoro::Task<Result<QList<Device>>> DeviceStore::list(QString account)
{
    return m_database.run([account](QSqlDatabase &db) { return devicesOf(db, account); });
}

QCoro::Task<Result<bool>> DeviceStore::put(QString account, DeviceChange change, qint64 nowMs)
{
    return m_database.transaction(
        [account, change, nowMs](QSqlDatabase &db) { return registered(db, account, change, nowMs); });
}

QCoro::Task<Result<>> DeviceStore::remove(QString account, QString deviceId)
{
    return m_database.run([account, deviceId](QSqlDatabase &db) -> Result<> {
        const Result<qint64> removed =
            change(db, u"DELETE FROM devices WHERE account = ? AND id = ?"_s, {account, deviceId});
        if (!removed)
            return fail(removed.error());
        if (*removed == 0)
            return fail(u"not_found"_s, u"The account has no device with this id."_s);
        return {};
    });
}

} // namespace tidekeeper::store
