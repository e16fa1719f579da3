// SPDX-License-Identifier: Apache-2.0
#include "oauth/keychange.h"

#include "oauth/sealingidentity.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

constexpr int batchSize = 500;

} // namespace

QCoro::Task<Result<KeyChange::Progress>> KeyChange::run(qint64 nowMs, Report report)
{
    using Table = store::SealedValues::Table;
    const Result<> begun = co_await begin(nowMs);
    if (!begun)
        co_return fail(begun.error());
    const Result<qint64> total = co_await m_values.count(m_to->keyId());
    if (!total)
        co_return fail(total.error());
    m_progress = {0, *total, 0};
    for (const Table table : {Table::Grants, Table::Devices}) {
        const Result<> resealed = co_await reseal(table, report);
        if (!resealed)
            co_return fail(resealed.error());
    }
    const Result<> ended = co_await end(nowMs);
    if (!ended)
        co_return fail(ended.error());
    co_return m_progress;
}

/// From here to the end no engine starts on this database.
QCoro::Task<Result<>> KeyChange::begin(qint64 nowMs)
{
    const Result<SealingIdentity> identity = co_await readSealingIdentity(m_settings);
    if (!identity)
        co_return fail(identity.error());
    if (identity->fingerprint.isEmpty())
        co_return fail(u"sealing_key_unused"_s,
                       u"No engine has used this database yet, so there is nothing to seal anew: set "
                       "sealing_key_file to the new key and start the engine."_s);
    if (identity->fingerprint == m_to->fingerprint())
        co_return Result<>(); // complete but for what an engine that still ran with the old key may have stored
    if (identity->fingerprint != m_from->fingerprint())
        co_return fail(u"sealing_key_mismatch"_s,
                       u"The grants in this database were sealed with the key %1, sealing_key_file holds %2. "
                       "Nothing was changed."_s.arg(identity->fingerprint.left(16), m_from->keyId()));
    if (!identity->next.isEmpty() && identity->next != m_to->fingerprint())
        co_return fail(
            u"sealing_change_other"_s,
            u"A change to the sealing key %1 is unfinished: complete it first, with the file of that "
            "key."_s.arg(identity->next.left(16)));
    const SealingIdentity changing{m_from->fingerprint(), m_to->fingerprint()};
    const Result<> noted = co_await replaceSealingIdentity(m_settings, *identity, changing, nowMs);
    co_return noted;
}

QCoro::Task<Result<>> KeyChange::reseal(store::SealedValues::Table table, Report report)
{
    for (QString after;;) {
        const Result<QList<store::SealedValue>> batch =
            co_await m_values.next(table, after, m_to->keyId(), batchSize);
        if (!batch)
            co_return fail(batch.error());
        if (batch->isEmpty())
            co_return Result<>();
        after = batch->last().id;
        QList<store::SealedValues::Replacement> replacements;
        for (const store::SealedValue &value : *batch) {
            Result<QByteArray> plain = m_from->unseal(value.sealed, value.keyId, value.account);
            if (!plain) {
                ++m_progress.unreadable;
                continue;
            }
            const Result<store::SealedValue> anew = sealedAnew(value, *plain);
            cleanse(*plain);
            if (!anew)
                co_return fail(anew.error());
            replacements.append({value.sealed, *anew});
        }
        const Result<> replaced = co_await m_values.replace(table, std::move(replacements));
        if (!replaced)
            co_return replaced;
        m_progress.done += batch->size();
        report(m_progress);
    }
}

Result<store::SealedValue> KeyChange::sealedAnew(const store::SealedValue &value,
                                                 const QByteArray &plain) const
{
    const Result<QByteArray> sealed = m_to->seal(plain, value.account);
    if (!sealed)
        return fail(sealed.error());
    return store::SealedValue{value.id, value.account, m_to->keyId(), *sealed, m_to->valueFingerprint(plain)};
}

QCoro::Task<Result<>> KeyChange::end(qint64 nowMs)
{
    const Result<SealingIdentity> identity = co_await readSealingIdentity(m_settings);
    if (!identity)
        co_return fail(identity.error());
    const SealingIdentity complete{m_to->fingerprint(), {}};
    const Result<> switched = co_await replaceSealingIdentity(m_settings, *identity, complete, nowMs);
    co_return switched;
}

} // namespace tidekeeper::oauth
