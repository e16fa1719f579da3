// SPDX-License-Identifier: Apache-2.0
#include "store/sealedvalues.h"

#include "store/statement.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

using Table = SealedValues::Table;

QString nameOf(Table table)
{
    return table == Table::Grants ? u"grants"_s : u"devices"_s;
}

QString idOf(Table table)
{
    return table == Table::Grants ? u"account"_s : u"id"_s;
}

QString text(const QByteArray &sealed)
{
    return QString::fromLatin1(sealed.toBase64());
}

Result<qint64> counted(QSqlDatabase &db, const QString &otherThanKeyId)
{
    Statement select(db,
                     u"SELECT (SELECT COUNT(*) FROM grants WHERE key_id <> ?)"
                     " + (SELECT COUNT(*) FROM devices WHERE key_id <> ?)"_s);
    if (Result<> read = select.run({otherThanKeyId, otherThanKeyId}); !read)
        return fail(read.error());
    select.next();
    return select.integer(0);
}

Result<QList<SealedValue>> read(QSqlDatabase &db, Table table, const QString &afterId,
                                const QString &otherThanKeyId, int limit)
{
    Statement select(db,
                     u"SELECT %1, account, key_id, sealed, fingerprint FROM %2"
                     " WHERE %1 > ? AND key_id <> ? ORDER BY %1 LIMIT ?"_s.arg(idOf(table), nameOf(table)));
    if (Result<> done = select.run({afterId, otherThanKeyId, limit}); !done)
        return fail(done.error());
    QList<SealedValue> values;
    while (select.next())
        values.append({select.text(0), select.text(1), select.text(2),
                       QByteArray::fromBase64(select.text(3).toLatin1()), select.text(4)});
    return values;
}

Result<> write(QSqlDatabase &db, Table table, const QList<SealedValues::Replacement> &replacements)
{
    Statement update(
        db,
        u"UPDATE %1 SET key_id = ?, sealed = ?, fingerprint = ? WHERE %2 = ? AND sealed = ?"_s.arg(
            nameOf(table), idOf(table)));
    for (const SealedValues::Replacement &each : replacements) {
        const Result<qint64> changed =
            update.change({each.after.keyId, text(each.after.sealed), each.after.fingerprint, each.after.id,
                           text(each.before)});
        if (!changed)
            return fail(changed.error());
    }
    return {};
}

} // namespace

QCoro::Task<Result<qint64>> SealedValues::count(QString otherThanKeyId)
{
    return m_database.run([otherThanKeyId](QSqlDatabase &db) { return counted(db, otherThanKeyId); });
}

QCoro::Task<Result<QList<SealedValue>>> SealedValues::next(Table table, QString afterId,
                                                           QString otherThanKeyId, int limit)
{
    return m_database.run([=](QSqlDatabase &db) { return read(db, table, afterId, otherThanKeyId, limit); });
}

QCoro::Task<Result<>> SealedValues::replace(Table table, QList<Replacement> replacements)
{
    return m_database.transaction(
        [table, replacements](QSqlDatabase &db) { return write(db, table, replacements); });
}

} // namespace tidekeeper::store
