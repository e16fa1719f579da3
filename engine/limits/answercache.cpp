// SPDX-License-Identifier: Apache-2.0
#include "limits/answercache.h"

#include "redis/callbackawaiter.h"

namespace tidekeeper::limits {

QCoro::Task<AnswerCache::Answer> AnswerCache::get(QString key, Read read)
{
    forgetOld(m_clock.monotonicMs());
    if (const std::shared_ptr<Entry> known = m_entries.value(key)) {
        if (known->isReady) {
            const Answer kept = known->answer; // a member that is returned would be moved away
            co_return kept;
        }
        auto settled = redis::awaitCallback<Answer>(
            [&known](std::function<void(Answer)> done) { known->waiting.push_back(std::move(done)); });
        Answer answer = co_await settled;
        co_return answer;
    }
    const auto entry = std::make_shared<Entry>();
    entry->begunMs = m_clock.monotonicMs();
    m_entries.insert(key, entry);
    entry->answer = co_await read();
    entry->isReady = true;
    const Answer answer = entry->answer;
    for (const auto &done : std::exchange(entry->waiting, {}))
        done(answer);
    co_return answer;
}

void AnswerCache::forgetOld(qint64 nowMs)
{
    m_entries.removeIf([this, nowMs](const auto &entry) {
        return (*entry)->isReady && nowMs - (*entry)->begunMs >= m_keptMs;
    });
}

} // namespace tidekeeper::limits
