// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decide/settings.h"

#include <tidekeeper/services.h>

#include <memory>

namespace gmailquota {

struct RateAnswer;
struct ReportRequest;

/// The limiter "gmail": turns a method into its cost and asks the engine's buckets; turns Gmail's answers into what
/// the buckets learn from them.
class GmailQuotaPlugin final : public QObject,
                               public tidekeeper::Plugin,
                               public tidekeeper::RateLimiter,
                               public tidekeeper::RateFeedback,
                               public tidekeeper::LiveSettings {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID TIDEKEEPER_PLUGIN_IID FILE "gmail-quota.json")
    Q_INTERFACES(tidekeeper::Plugin tidekeeper::RateLimiter tidekeeper::RateFeedback tidekeeper::LiveSettings)

public:
    tidekeeper::Status initialize(tidekeeper::Host *host) override;
    void start(tidekeeper::Reply *reply) override;
    void stop(tidekeeper::Reply *reply) override;

    QJsonObject describe() const override;
    void acquire(const tidekeeper::QuotaRequest &request, tidekeeper::QuotaReply *reply) override;

    void report(const QJsonObject &answer, tidekeeper::Reply *reply) override;

    void adjust(const QJsonObject &changes, bool dryRun, tidekeeper::Reply *reply) override;

private:
    using SharedSettings = std::shared_ptr<const Settings>;

    void publishNext(QStringList projects, tidekeeper::Reply *reply);
    void takeWarnings(const QString &project, const QStringList &warnings);
    void takeOver(const SharedSettings &wanted, tidekeeper::Reply *reply);
    tidekeeper::Status unknownProject() const;

    tidekeeper::Host *m_host = nullptr;
    tidekeeper::Buckets *m_buckets = nullptr;
    tidekeeper::BucketFeedback *m_feedback = nullptr;
    tidekeeper::Clock *m_clock = nullptr;
    Settings m_configured; ///< of the file
    SharedSettings m_settings; ///< in force: with what operators changed
    QMap<QString, QStringList> m_warnings; ///< by project, from the last publication
};

} // namespace gmailquota
