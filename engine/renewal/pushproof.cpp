// SPDX-License-Identifier: Apache-2.0
#include "renewal/pushproof.h"

#include "log/log.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr qint64 mostRestMs = 60'000;
constexpr qint64 restPerWork = 100; // of a million accounts a look takes a while
constexpr int mostSilentAtOnce = 50;

QString textOf(const store::PushCounts &counts, bool broken)
{
    if (broken)
        return u"Watches are renewed but no push arrives at all. Usual causes: gmail-api-push may no longer "
               "publish to the topic; the Pub/Sub subscription is missing or paused; the endpoint refuses "
               "pushes; the consumer stopped reporting them."_s;
    if (counts.provenSince == 0)
        return u"No push was ever reported, so nothing is known of delivery."_s;
    return u"%1 of %2 watches are proven to deliver, %3 are silent."_s.arg(counts.proven)
        .arg(counts.proven + counts.unproven + counts.silent)
        .arg(counts.silent);
}

} // namespace

PushProof::PushProof(store::PushStore &store, const Clock &clock, core::PushLimits limits, Publish publish,
                     Repair repair, QObject *parent)
    : QObject(parent), m_store(store), m_clock(clock), m_limits(limits), m_publish(std::move(publish)),
      m_repair(std::move(repair))
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, [this] { look(); });
}

void PushProof::start()
{
    m_isRunning = true;
    look();
}

void PushProof::stop()
{
    m_isRunning = false;
    m_timer.stop();
}

QCoro::Task<Result<QSet<QString>>> PushProof::report(QMap<QString, QString> historyIdByEmail)
{
    if (!m_next) {
        m_next = std::make_shared<Batch>();
        m_next->stored.start();
    }
    const qint64 now = m_clock.nowMs();
    for (auto it = historyIdByEmail.begin(); it != historyIdByEmail.end(); ++it) {
        store::PushSeen &seen = m_next->byEmail[it.key()];
        seen.at = now;
        if (!core::isStaleHistory(it.value(), seen.historyId))
            seen.historyId = it.value();
    }
    QFuture<Result<QSet<QString>>> stored = m_next->stored.future();
    if (!m_isWriting)
        writeAll();
    const Result<QSet<QString>> unknown = co_await stored;
    co_return unknown;
}

QCoro::Task<> PushProof::writeAll()
{
    m_isWriting = true;
    while (m_next) {
        const std::shared_ptr<Batch> batch = std::exchange(m_next, nullptr);
        const Result<QSet<QString>> unknown = co_await m_store.note(batch->byEmail);
        ++m_writes;
        batch->stored.addResult(unknown);
        batch->stored.finish();
    }
    m_isWriting = false;
}

QCoro::Task<> PushProof::look()
{
    const qint64 begun = m_clock.monotonicMs();
    const Result<store::PushCounts> counts = co_await m_store.count(m_limits, m_clock.nowMs());
    if (!counts)
        log::warning(u"pushes"_s, counts.error().text);
    else
        co_await judgePath(*counts);
    const qint64 restMs = std::min(mostRestMs, m_limits.provenWithinMs / 2);
    if (m_isRunning)
        m_timer.start(int(std::max(restMs, restPerWork * (m_clock.monotonicMs() - begun))));
}

QCoro::Task<> PushProof::judgePath(store::PushCounts counts)
{
    const qint64 now = m_clock.nowMs();
    const bool broken = core::isPushPathBroken(counts.provenSince, counts.firstUnansweredAt, now, m_limits);
    const QString text = textOf(counts, broken);
    const Result<qint64> known = co_await m_store.pathBrokenSince();
    const qint64 knownSince = known.value_or(0);
    if (known && broken != (knownSince > 0)) {
        const Result<bool> changed = co_await m_store.markPath(broken, now);
        if (changed && *changed)
            m_publish(broken ? u"push.path_broken"_s : u"push.path_recovered"_s, {{u"text"_s, text}});
    }
    m_status = {{u"on"_s, counts.provenSince > 0},
                {u"proven"_s, counts.proven},
                {u"unproven"_s, counts.unproven},
                {u"silent"_s, counts.silent},
                {u"path_broken"_s, broken},
                {u"since"_s, broken ? (knownSince > 0 ? knownSince : now) : 0},
                {u"text"_s, text}};
    if (!broken && counts.proven > 0 && counts.silent > 0)
        co_await settleSilences();
}

/// Only while others are proven: with the whole path broken no single watch is to blame.
QCoro::Task<> PushProof::settleSilences()
{
    const auto watches = co_await m_store.takeSilent(m_limits, m_clock.nowMs(), mostSilentAtOnce);
    if (!watches) {
        log::warning(u"pushes"_s, watches.error().text);
        co_return;
    }
    for (const store::SilentWatch &watch : *watches) {
        if (watch.step == core::SilenceStep::Tell) {
            m_publish(u"push.silent"_s,
                      {{u"account"_s, watch.account},
                       {u"text"_s, u"The watch was renewed and repaired, yet no push follows."_s}});
            continue;
        }
        const Result<> asked = co_await m_repair(watch.account, watch.subscription);
        if (!asked)
            log::warning(u"pushes"_s, asked.error().text);
    }
}

} // namespace tidekeeper::renewal
