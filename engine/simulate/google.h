// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulate/random.h"
#include "simulate/scenario.h"

#include <QtCore/QByteArray>

#include <optional>

namespace tidekeeper::simulate {

struct HttpAnswer {
    int status = 0; ///< 0 = none came in time
    QByteArray body;
};

/// What one attempt to renew was answered.
struct Answers {
    std::optional<HttpAnswer> token; ///< none: a kept access token was used
    std::optional<HttpAnswer> watch; ///< none: there was no access token to ask with
    qint64 tookMs = 0;

    int calls() const { return (token ? 1 : 0) + (watch ? 1 : 0); }
};

/// Google's token endpoint and Gmail's users.watch with the answers that they are known to give, and the truth: which
/// grants live, until when each watch does, and how long it was missing.
class Google {
public:
    explicit Google(const Scenario &scenario);

    Answers renew(int account, bool tokenKept, qint64 nowMs);

    bool grantLives(int account, qint64 nowMs) const;
    /// Counts the lapses that are still open; the last call.
    void close(qint64 nowMs);

    int lapsed() const; ///< accounts that were without a watch at any time though their grant was alive
    qint64 lapseMs() const { return m_lapseMs; } ///< of all of them together

private:
    HttpAnswer tokenAnswer(int account, qint64 nowMs);
    HttpAnswer watchAnswer(int account, qint64 nowMs);
    void countLapse(int account, qint64 nowMs);

    const Scenario &m_scenario;
    Random m_random;
    QList<qint64> m_expiresAt;
    QList<qint64> m_revokedAt; ///< 0 = never
    QList<bool> m_lapsed;
    qint64 m_lapseMs = 0;
};

} // namespace tidekeeper::simulate
