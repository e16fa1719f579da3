// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <tidekeeper/services.h>

#include <QtCore/QMap>
#include <QtCore/QSet>

#include <utility>

namespace tidekeeper::limits {

/// The running limiters by name: what the service Limiters offers, and what the API lists. Main thread.
class LimiterRegistry final : public Limiters {
public:
    /// Takes up a limiter under the name that it describes itself with; the first of a name stays. False when it
    /// was not taken. It has to live as long as the registry, as plugins do. feedback: its second interface, or null.
    bool add(RateLimiter *limiter, RateFeedback *feedback = nullptr);

    /// A limiter that is switched off is not asked any more: every sound request is granted, marked as degraded.
    /// Also before add().
    void setEnabled(const QString &name, bool enabled);
    /// How often that happened, by limiter and lane.
    const QMap<std::pair<QString, QString>, qint64> &ungoverned() const { return m_ungoverned; }

    void acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply) override;

    /// Hands on what the API answered, as RateFeedback has it; unknown_limiter, not_supported.
    void report(const QString &limiter, const QJsonObject &answer, Reply *reply);

    /// The failure unknown_limiter, with the names that there are.
    Error unknown(const QString &limiter) const;
    QStringList names() const { return m_limiters.keys(); }
    /// What the limiter says of itself; empty when there is none of this name.
    QJsonObject describe(const QString &name) const;

private:
    void grantUngoverned(const QString &limiter, const QuotaRequest &request, QuotaReply *reply);

    QMap<QString, RateLimiter *> m_limiters;
    QMap<QString, RateFeedback *> m_feedback;
    QSet<QString> m_switchedOff;
    QMap<std::pair<QString, QString>, qint64> m_ungoverned;
};

} // namespace tidekeeper::limits
