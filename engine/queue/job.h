// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace tidekeeper::queue {

struct Job {
    QString id;
    QString type;
    QJsonObject payload;
    QString dedupeKey;
    bool urgent = false;
    int starts = 0; ///< deliveries that began since the last orderly end, this one included
    int attempts = 0; ///< real failures so far
    int deferrals = 0;
    qint64 enqueuedAt = 0; ///< epoch ms, Redis time
    QByteArray owner; ///< token that ack, retry and heartbeat must present
};

/// How a handler ended.
struct JobOutcome {
    enum class Kind : quint8 {
        Done, ///< finished
        Retry, ///< failed: counted, again after back-off or afterMs
        Defer, ///< throttled: not counted as an attempt, again after afterMs
        Release, ///< could not begin: back to the queue uncounted, after afterMs if given
        Dead ///< will never work: dead letter now
    };
    Kind kind = Kind::Done;
    qint64 afterMs = -1; ///< −1 = back-off (Release: at once)
    QString errorClass;
    QString errorText;
};

} // namespace tidekeeper::queue
