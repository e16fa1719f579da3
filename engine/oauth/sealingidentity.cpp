// SPDX-License-Identifier: Apache-2.0
#include "oauth/sealingidentity.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

const QString setting = u"sealing.key"_s;

QJsonObject jsonOf(const SealingIdentity &identity)
{
    if (identity.fingerprint.isEmpty())
        return {};
    QJsonObject json{{u"fingerprint"_s, identity.fingerprint}};
    if (!identity.next.isEmpty())
        json.insert(u"next"_s, identity.next);
    return json;
}

} // namespace

QCoro::Task<Result<SealingIdentity>> readSealingIdentity(store::SettingsStore &settings)
{
    const auto known = co_await settings.all(setting);
    if (!known)
        co_return fail(known.error());
    const QJsonObject json = known->value(setting);
    co_return SealingIdentity{json["fingerprint"_L1].toString(), json["next"_L1].toString()};
}

QCoro::Task<Result<>> replaceSealingIdentity(store::SettingsStore &settings, SealingIdentity from,
                                             SealingIdentity to, qint64 nowMs)
{
    return settings.replace(setting, jsonOf(from), jsonOf(to), u"engine"_s, nowMs);
}

} // namespace tidekeeper::oauth
