// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "demo/jsonclient.h"
#include "demo/outcome.h"

#include <QtCore/QStringList>

#include <random>

namespace tidekeeper::demo {

struct Places {
    QString engine; ///< base URLs
    QByteArray engineToken;
    QString google;
    QByteArray accessToken; ///< of the account
    QString account;
};

/// One consumer of a mail product: asks the limiter before each call to Gmail, as its own process would.
///
/// A grant says how long to wait before the call and holds for two seconds after that; a refusal says when to ask
/// again. Whoever keeps to both is never refused by Gmail. Main thread.
class Consumer {
public:
    enum class Kind : quint8 {
        FirstSync, ///< lists threads page by page and reads each; lane bulk
        Batch, ///< reads threads by twos; lane bulk
        Realtime, ///< follows the history and reads what is new; lane realtime
    };

    Consumer(Kind kind, unsigned seed, const Places &places, Tally &tally);

    QCoro::Task<> run();
    void stop() { m_stopping = true; } ///< run() ends after the call under way

private:
    QCoro::Task<> firstSync();
    QCoro::Task<> batch();
    QCoro::Task<> realtime();

    /// Waits for leave to call the method once; false when the consumer is to stop. Each call asks for itself: among
    /// rivals that ask for less, a large cost waits longest.
    QCoro::Task<bool> leave(QString method);
    QCoro::Task<bool> useGrant(QJsonObject grant);
    QCoro::Task<bool> stillOpen();
    QCoro::Task<> refund(QString grantId);
    QCoro::Task<QJsonObject> gmail(QString target);
    QCoro::Task<> pause(qint64 ms);

    Kind m_kind;
    QString m_account;
    QString m_lane;
    JsonClient m_engine;
    JsonClient m_google;
    Tally &m_tally;
    std::mt19937 m_random;
    bool m_stopping = false;
};

} // namespace tidekeeper::demo
