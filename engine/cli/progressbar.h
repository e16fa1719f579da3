// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QElapsedTimer>
#include <QtCore/QString>

namespace tidekeeper::cli {

/// On a terminal, on standard error: how much is done, how fast and how long still. Nothing where nobody sees it.
class ProgressBar {
public:
    explicit ProgressBar(qint64 total); ///< of whatever done counts; 0 = not known

    void show(qint64 done, qint64 accounts) const;
    void show(qint64 done, const QString &what) const;
    void clear() const;

private:
    qint64 m_total;
    bool m_shown;
    QElapsedTimer m_timer;
};

} // namespace tidekeeper::cli
