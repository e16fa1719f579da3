// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/services.h>

#include <QtCore/QMap>

namespace tidekeeper::limits {

/// The running limiters by name: what the service Limiters offers, and what the API lists. Main thread.
class LimiterRegistry final : public Limiters {
public:
    /// Takes up a limiter under the name that it describes itself with; the first of a name stays. False when it
    /// was not taken. It has to live as long as the registry, as plugins do.
    bool add(RateLimiter *limiter);

    void acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply) override;

    QStringList names() const { return m_limiters.keys(); }
    /// What the limiter says of itself; empty when there is none of this name.
    QJsonObject describe(const QString &name) const;

private:
    QMap<QString, RateLimiter *> m_limiters;
};

} // namespace tidekeeper::limits
