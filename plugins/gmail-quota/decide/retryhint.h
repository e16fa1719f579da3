// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace gmailquota {

/// A header of an answer, whatever its case; empty when it is not there.
QString headerOf(const QJsonObject &headers, QLatin1StringView name);

/// Gmail's own time when it answered: its Date header, else nowMs. Epoch ms.
qint64 gmailNowMs(const QJsonObject &headers, qint64 nowMs);

/// How long Gmail wants not to be called, in ms from its answer: 1 s … 24 h, or 0 when it does not say. First "Retry
/// after <time>" of the message, then the Retry-After header, in seconds or as a date; times are compared with
/// gmailNowMs(), so that a clock of ours that is off does not matter. A time that is past, zero or unreadable says
/// nothing.
qint64 toldWaitMs(const QString &message, const QJsonObject &headers, qint64 nowMs);

/// To the next midnight in Los Angeles, where Google's days begin: 1 s … 24 h (the longest day of the year is cut).
qint64 msToDayEnd(qint64 nowMs);

} // namespace gmailquota
