// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decide/apierror.h"
#include "decide/settings.h"

#include <tidekeeper/services.h>

#include <QtCore/QMap>

#include <functional>

namespace watchrenewal {

/// The provider "gmail": users.watch and users.stop.
class WatchRenewalPlugin final : public QObject,
                                 public tidekeeper::Plugin,
                                 public tidekeeper::SubscriptionProvider {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID TIDEKEEPER_PLUGIN_IID FILE "watch-renewal.json")
    Q_INTERFACES(tidekeeper::Plugin tidekeeper::SubscriptionProvider)

public:
    tidekeeper::Status initialize(tidekeeper::Host *host) override;
    void start(tidekeeper::Reply *reply) override;
    void stop(tidekeeper::Reply *reply) override;

    QJsonObject describe() const override;
    void renew(const QJsonObject &subscription, const QString &accessToken,
               tidekeeper::Reply *reply) override;
    void remove(const QJsonObject &subscription, const QString &accessToken,
                tidekeeper::Reply *reply) override;

private:
    /// One renewal's or removal's calls, which share one deadline.
    struct Call {
        QJsonObject subscription;
        QString topic;
        QString accessToken;
        qint64 endsAtMs = 0; ///< monotonic
        tidekeeper::Reply *reply = nullptr;
    };
    using OnAnswer = std::function<void(const ApiAnswer &answer)>;

    Call begin(const QJsonObject &subscription, const QString &accessToken, tidekeeper::Reply *reply) const;
    void watch(const Call &call, OnAnswer onAnswer);
    void stopWatch(const Call &call, OnAnswer onAnswer);
    void stopThenWatch(const Call &call, const QString &mark);
    QJsonObject outcomeOf(const Call &call, const ApiAnswer &watchAnswer) const;
    void send(const Call &call, const QString &verb, const QByteArray &body, OnAnswer onAnswer);
    void finish(const Call &call, const QJsonObject &outcome) const;

    tidekeeper::Clock *m_clock = nullptr;
    tidekeeper::Http *m_http = nullptr;
    QMap<QString, QString> m_topics; ///< by project
    Settings m_settings;
};

} // namespace watchrenewal
