// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decide/preset.h"

#include <tidekeeper/services.h>

#include <QtCore/QMap>

namespace gmailquota {

/// The limiter "gmail": turns a method into its cost and asks the engine's buckets.
class GmailQuotaPlugin final : public QObject, public tidekeeper::Plugin, public tidekeeper::RateLimiter {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID TIDEKEEPER_PLUGIN_IID FILE "gmail-quota.json")
    Q_INTERFACES(tidekeeper::Plugin tidekeeper::RateLimiter)

public:
    tidekeeper::Status initialize(tidekeeper::Host *host) override;
    void start(tidekeeper::Reply *reply) override;
    void stop(tidekeeper::Reply *reply) override;

    QJsonObject describe() const override;
    void acquire(const tidekeeper::QuotaRequest &request, tidekeeper::QuotaReply *reply) override;

private:
    void publishNext(QStringList projects, tidekeeper::Reply *reply);
    QJsonObject policyOf(const ProjectQuota &quota) const;

    tidekeeper::Host *m_host = nullptr;
    tidekeeper::Buckets *m_buckets = nullptr;
    QJsonObject m_settings;
    QMap<QString, ProjectQuota> m_projects;
    QMap<QString, QStringList> m_warnings; ///< by project, from the last publication
};

} // namespace gmailquota
