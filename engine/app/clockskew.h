// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QMap>
#include <QtCore/QString>

namespace tidekeeper::app {

/// How far clocks are apart, learnt from answers that carry the other side's time. The other clock was read between
/// question and answer, so what fits in between is no skew: a slow answer never looks like one. Main thread.
class ClockSkew {
public:
    static constexpr qint64 tolerableMs = 2'000;

    /// The other side's time, which it cuts to resolutionMs, and our time before and after; all epoch ms.
    void learn(const QString &against, qint64 theirMs, qint64 resolutionMs, qint64 askedMs,
               qint64 answeredMs);
    /// As measured elsewhere; > 0: ours is ahead.
    void set(const QString &against, qint64 skewMs) { m_skewMs[against] = skewMs; }
    /// An HTTP Date header (IMF-fixdate), in whole seconds; nothing is learnt from any other text.
    void learnHttpDate(const QString &against, const QByteArray &date, qint64 askedMs, qint64 answeredMs);

    /// By whom it was measured against; > 0: ours is ahead.
    const QMap<QString, qint64> &all() const { return m_skewMs; }

private:
    QMap<QString, qint64> m_skewMs;
};

} // namespace tidekeeper::app
