// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/bucketservice.h"
#include "limits/quotalibrary.h"
#include "settings/limitersettings.h"
#include "support/fakeclock.h"

#include <tidekeeper/callback.h>

namespace tidekeeper::test {

/// A limiter "gmail" with the projects default and other that takes settings over as the real one does: all or none,
/// at once. It refuses an account_capacity above 1,000 and a key_ttl of at most 100 s for each 100 units of capacity.
class FakeLimiter final : public RateLimiter, public LiveSettings {
public:
    QJsonObject describe() const override;
    void acquire(const QuotaRequest &request, QuotaReply *reply) override;
    void adjust(const QJsonObject &settings, bool dryRun, Reply *reply) override;

    settings::LimiterProfile profile(); ///< its schema; the file sets send_slack and other.account_capacity

    QJsonObject adjusted; ///< what is in force, apart from the file
    int adjustments = 0; ///< not counting dry runs
    int asked = 0;
    Status nextAdjustment; ///< when it is a failure: what the next adjust() that is no dry run says, once

private:
    Status check(const QJsonObject &settings) const;
};

/// What one engine has of limiter settings, on a database that it may share.
struct EngineSide {
    /// Redis is never asked before connection.open().
    explicit EngineSide(store::Database &database,
                        const QString &redisUrl = QStringLiteral("unix:/nonexistent"));

    void start(); ///< as the engine does: takes the limiter up, then looks now and then
    Result<> change(const QJsonObject &patch, const QString &actor = QStringLiteral("kim"));
    Result<> putOverride(const settings::OverrideName &name, const QJsonObject &limits);
    Result<> removeOverride(const settings::OverrideName &name);
    const settings::LimiterState &state() const; ///< of gmail

    FakeClock clock;
    FakeLimiter limiter;
    redis::RedisConnection connection;
    redis::FunctionLibrary library;
    limits::BucketService buckets;
    limits::AccountOverrides overrides;
    limits::LimiterRegistry registry;
    store::SettingsStore store;
    settings::LimiterSettings settings;
};

} // namespace tidekeeper::test
