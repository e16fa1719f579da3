// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "demo/consumer.h"

#include <QtCore/QElapsedTimer>

#include <functional>
#include <memory>
#include <vector>

namespace tidekeeper::demo {

struct Options {
    QString engine; ///< base URLs
    QByteArray engineToken;
    QString google;
    int accounts = 300;
    int seconds = 45; ///< how long the consumers work
    int patienceSeconds = 60; ///< how long renewals may take after that
    int reportEverySeconds = 3;
};

/// Sets the scene in the simulator and the engine, lets ten consumers work on one account while the engine renews, and
/// tells how it went. Main thread.
class Demo {
public:
    using Print = std::function<void(const QString &line)>;

    Demo(Options options, Print print);

    /// Fails with a sentence when the scene cannot be set: nothing was shown then.
    QCoro::Task<Result<Outcome>> run();

private:
    QCoro::Task<Result<>> setScene();
    QCoro::Task<Result<>> importAccounts(QJsonArray accounts);
    QCoro::Task<Result<QByteArray>> accessToken(QString refreshToken);
    void startConsumers(const QByteArray &accessToken);
    QCoro::Task<> stopConsumers();
    QCoro::Task<Outcome> look();
    QCoro::Task<> watchProgress(qint64 untilSeconds, bool untilRenewed);

    Options m_options;
    Print m_print;
    JsonClient m_engine;
    JsonClient m_google;
    QString m_account; ///< the one the consumers share
    QString m_refreshToken;
    Tally m_tally;
    std::vector<std::unique_ptr<Consumer>> m_consumers;
    std::vector<QCoro::Task<>> m_working;
    QElapsedTimer m_timer;
};

} // namespace tidekeeper::demo
