// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/grantsource.h"

#include <QtCore/QHash>
#include <QtCore/QTimer>

namespace tidekeeper::oauth {

/// Refresh tokens that the server replaced, on their way to the database. The old one may be dead already, so a save
/// that fails is said loudly and repeated until it succeeds or somebody stored another token; until then the new one
/// is used from here. Main thread.
class RotatedTokens {
public:
    explicit RotatedTokens(GrantSource &grants, int retryMs = 1'000);

    QCoro::Task<> save(QString account, QString from, QString to);

    /// The token to use when `stored` is what the database has.
    QString newest(const QString &account, const QString &stored) const;
    qsizetype unsaved() const { return m_unsaved.size(); }

private:
    struct Unsaved {
        QString from; ///< what the database has
        QString to;
    };
    QCoro::Task<> retry();
    void settle(const QString &account, const Unsaved &tried, const Result<> &saved);

    GrantSource &m_grants;
    QHash<QString, Unsaved> m_unsaved;
    QTimer m_timer;
};

} // namespace tidekeeper::oauth
