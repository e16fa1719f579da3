// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QCoro/QCoroTask>
#include <QtCore/QHash>
#include <QtCore/QJsonObject>

#include <functional>
#include <memory>
#include <vector>

#include <tidekeeper/services.h>

namespace tidekeeper::limits {

/// Answers that many ask for at once are read once and kept for a moment. One thread.
class AnswerCache {
public:
    using Answer = Result<QJsonObject>;
    using Read = std::function<QCoro::Task<Answer>()>;

    AnswerCache(const Clock &clock, qint64 keptMs) : m_clock(clock), m_keptMs(keptMs) { }

    /// The answer under this key when it was begun less than keptMs ago; otherwise what `read` answers.
    QCoro::Task<Answer> get(QString key, Read read);

private:
    struct Entry {
        qint64 begunMs = 0; ///< monotonic
        bool isReady = false;
        Answer answer;
        std::vector<std::function<void(Answer)>> waiting;
    };

    void forgetOld(qint64 nowMs);

    const Clock &m_clock;
    const qint64 m_keptMs;
    QHash<QString, std::shared_ptr<Entry>> m_entries;
};

} // namespace tidekeeper::limits
