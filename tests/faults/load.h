// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QList>
#include <QtCore/QString>

#include <functional>

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
/// when all are answered or after 30 s. between: called after each answer with how many there are.
void shoot(const QString &engineUrl, const QByteArray &token, QList<Shot> &shots, int inFlight,
           const std::function<void(int answered)> &between = {});

/// The time that `share` (0 … 1) of the shots stayed below, in ms.
double percentileMs(const QList<Shot> &shots, double share);

} // namespace tidekeeper::faults
