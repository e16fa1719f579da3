// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QList>
#include <QtCore/QString>

#include <atomic>

namespace tidekeeper::faults {

/// One POST …/acquire and what came of it.
struct Shot {
    QByteArray account;
    int cost = 0;
    int status = 0; ///< of HTTP; 0 = no whole answer
    bool granted = false;
    bool degraded = false;
    qint64 us = 0; ///< from the first byte out to the last byte in
};

/// Sends all shots of `shots`, at most `inFlight` at a time, each on a kept-alive connection, and fills them in. Ends
/// when all are answered or after 30 s. `answered` counts along, for another thread to see.
void shoot(const QString &engineUrl, const QByteArray &token, QList<Shot> &shots, int inFlight,
           std::atomic<int> &answered);

/// The time that `share` (0 … 1) of the shots stayed below, in ms.
double percentileMs(const QList<Shot> &shots, double share);

} // namespace tidekeeper::faults
