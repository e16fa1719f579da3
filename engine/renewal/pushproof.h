// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/pushstore.h"

#include <tidekeeper/services.h>

#include <QtCore/QJsonObject>
#include <QtCore/QPromise>
#include <QtCore/QTimer>

#include <functional>
#include <memory>

namespace tidekeeper::renewal {

/// Takes in that watches deliver, and looks for those that do not. What is known is in the database, so pushes may
/// arrive at any engine. Events, each once: push.path_broken, push.path_recovered, push.silent. Main thread.
class PushProof : public QObject {
    Q_OBJECT

public:
    using Publish = std::function<void(const QString &type, const QJsonObject &event)>;
    /// Asks for one renewal that ends the watch first.
    using Repair = std::function<QCoro::Task<Result<>>(QString account, QString subscription)>;

    PushProof(store::PushStore &store, const Clock &clock, core::PushLimits limits, Publish publish,
              Repair repair, QObject *parent = nullptr);

    /// Looks now, then twice within what a push may take, at most once a minute, and for no more than a hundredth of
    /// the time.
    void start();
    void stop();

    /// Returns when it is stored, so that whoever acknowledges loses nothing. What arrives during a write goes into
    /// the next one together: under load one transaction serves many reports. Gives the addresses nobody has.
    /// Failure: database_unavailable.
    QCoro::Task<Result<QSet<QString>>> report(QMap<QString, QString> historyIdByEmail);

    QCoro::Task<> look(); ///< what start() does again and again
    /// As of the last look: {"on", "proven", "unproven", "silent", "path_broken", "since" (of that), "text"}.
    const QJsonObject &status() const { return m_status; }
    const core::PushLimits &limits() const { return m_limits; }
    qint64 writes() const { return m_writes; } ///< transactions that report() took

private:
    struct Batch {
        QMap<QString, store::PushSeen> byEmail;
        QPromise<Result<QSet<QString>>> stored;
    };

    QCoro::Task<> writeAll();
    QCoro::Task<> judgePath(store::PushCounts counts);
    QCoro::Task<> settleSilences();

    store::PushStore &m_store;
    const Clock &m_clock;
    const core::PushLimits m_limits;
    Publish m_publish;
    Repair m_repair;
    QTimer m_timer;
    QJsonObject m_status{{QStringLiteral("on"), false}};
    std::shared_ptr<Batch> m_next; ///< waits for the write under way
    bool m_isWriting = false;
    qint64 m_writes = 0;
    bool m_isRunning = false;
};

} // namespace tidekeeper::renewal
