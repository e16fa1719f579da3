// SPDX-License-Identifier: Apache-2.0
#include "oauth/sealedgrants.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

QCoro::Task<Result<QString>> SealedGrants::refreshToken(QString accountId)
{
    const Result<store::GrantChange> grant = co_await m_accounts.sealedGrant(accountId);
    if (!grant)
        co_return fail(grant.error());
    const Result<QByteArray> token = m_sealing->unseal(grant->sealedRefreshToken, grant->keyId, accountId);
    if (!token)
        co_return fail(u"grant_unreadable"_s, token.error().text, {{u"cause"_s, token.error().code}});
    co_return QString::fromUtf8(*token);
}

QCoro::Task<Result<>> SealedGrants::rotate(QString accountId, QString from, QString to)
{
    const QByteArray plain = to.toUtf8();
    const Result<QByteArray> sealed = m_sealing->seal(plain, accountId);
    if (!sealed)
        co_return fail(sealed.error());
    store::GrantChange change;
    change.kind = store::GrantChange::Kind::Set;
    change.grantKind = core::GrantKind::Stored;
    change.sealedRefreshToken = *sealed;
    change.keyId = m_sealing->keyId();
    change.fingerprint = m_sealing->valueFingerprint(plain);
    const Result<> rotated = co_await m_grants.rotate(accountId, m_sealing->valueFingerprint(from.toUtf8()),
                                                      change, m_clock.nowMs());
    co_return rotated;
}

} // namespace tidekeeper::oauth
