// SPDX-License-Identifier: Apache-2.0
#include "renewal/renewalengine.h"

#include <QtCore/QCryptographicHash>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

const QString RenewalEngine::scanJob = u"scan-renewals"_s;
const QString RenewalEngine::renewJob = u"renew"_s;
const QString RenewalEngine::removeJob = u"remove"_s;

namespace {

constexpr int soonMs = 500;
constexpr qint64 afterProbeTimeMs = 100; // rows are saved a moment after the breaker was asked
constexpr int mostAtOnce = 500; // jobs in one enqueue

/// Names a live job. Ids are the caller's own and may be addresses, which do not belong into Redis keys.
QString dedupeKey(const QString &type, const QString &id)
{
    const QByteArray hash = QCryptographicHash::hash(id.toUtf8(), QCryptographicHash::Sha256).left(18);
    return type + u':'
        + QString::fromLatin1(hash.toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
}

queue::JobSpec forcedSpec(const core::Subscription &row, bool takeOver = false)
{
    queue::JobSpec spec;
    spec.type = RenewalEngine::renewJob;
    spec.payload = {{u"account"_s, row.account}, {u"subscription"_s, row.id}, {u"force"_s, true}};
    spec.dedupeKey = dedupeKey(spec.type, row.id);
    if (takeOver)
        spec.payload.insert("take_over"_L1, true);
    spec.urgent = true;
    return spec;
}

bool isOwnedElsewhere(const store::AccountRow &row)
{
    const QString kind = toString(core::OutcomeKind::OwnedElsewhere);
    return std::any_of(
        row.subscriptions.begin(), row.subscriptions.end(),
        [&](const core::Subscription &subscription) { return subscription.errorClass == kind; });
}

bool isNew(const queue::EnqueueResult &result)
{
    return result.result == "added"_L1 || result.result == "promoted"_L1;
}

} // namespace

RenewalEngine::RenewalEngine(Ports ports, Providers &providers, QObject *parent)
    : QObject(parent), m_ports(std::move(ports)), m_providers(providers), m_backlog(m_ports, m_providers),
      m_incidents(m_ports), m_renewals(m_ports, m_providers, m_incidents), m_removals(m_ports, m_providers)
{
    m_soon.setSingleShot(true);
    m_soon.setInterval(soonMs);
    connect(&m_soon, &QTimer::timeout, this, [this] { scan(); });
    m_probe.setObjectName(u"probe"_s);
    m_probe.setSingleShot(true);
    m_probe.setTimerType(Qt::PreciseTimer);
    connect(&m_probe, &QTimer::timeout, this, [this] {
        scan();
        wakeForProbe();
    });
    connect(&m_incidents, &Incidents::changed, this, &RenewalEngine::wakeForProbe);
    connect(&m_incidents, &Incidents::ended, this, &RenewalEngine::requestScan);
}

void RenewalEngine::requestScan()
{
    if (!m_soon.isActive())
        m_soon.start();
}

QCoro::Task<ScanResult> RenewalEngine::scan()
{
    ScanResult result;
    result.at = m_ports.clock.nowMs();
    const qint64 begunMs = m_ports.clock.monotonicMs();
    const Result<QList<store::DueRow>> due = co_await m_ports.store.due(result.at, batchSize());
    const Result<QList<store::AccountRow>> leaving = co_await m_ports.store.leaving(result.at, mostAtOnce);
    if (!due || !leaving)
        result.errorText = due ? leaving.error().text : due.error().text;
    result.due = due ? static_cast<int>(due->size()) : 0;
    result.leaving = leaving ? static_cast<int>(leaving->size()) : 0;
    result.observed = everyProviderObserves();

    QList<queue::JobSpec> specs;
    if (due && !result.observed) {
        const Backlog::Admitted admitted = co_await m_backlog.admit(*due);
        result.held = admitted.held;
        for (const store::DueRow &row : admitted.rows)
            specs.append(renewSpec(row));
        co_await enqueue(specs, &result.enqueued, &result.errorText);
        // What is live already was counted when it was begun.
        co_await m_backlog.giveBack(
            std::min(admitted.paced, static_cast<int>(specs.size()) - result.enqueued));
    }
    m_liveOfLastScan = static_cast<int>(specs.size());

    specs.clear();
    for (const store::AccountRow &row : leaving.value_or(QList<store::AccountRow>())) {
        queue::JobSpec spec;
        spec.type = removeJob;
        spec.payload = {{u"account"_s, row.account.id}};
        spec.dedupeKey = dedupeKey(spec.type, row.account.id);
        specs.append(spec);
    }
    int removals = 0;
    co_await enqueue(specs, &removals, &result.errorText);
    result.tookMs = m_ports.clock.monotonicMs() - begunMs;
    m_lastScan = result;
    co_return result;
}

QCoro::Task<> RenewalEngine::enqueue(QList<queue::JobSpec> specs, int *enqueued, QString *errorText)
{
    for (qsizetype from = 0; from < specs.size(); from += mostAtOnce) {
        const auto results = co_await m_ports.enqueue(specs.mid(from, mostAtOnce));
        if (!results) {
            *errorText = results.error().text;
            co_return;
        }
        *enqueued += static_cast<int>(std::count_if(results->begin(), results->end(), isNew));
    }
}

queue::JobSpec RenewalEngine::renewSpec(const store::DueRow &row) const
{
    queue::JobSpec spec;
    spec.type = renewJob;
    spec.payload = {{u"account"_s, row.account}, {u"subscription"_s, row.subscription}};
    spec.dedupeKey = dedupeKey(spec.type, row.subscription);
    spec.urgent = m_backlog.isUrgent(row);
    return spec;
}

QCoro::Task<queue::JobOutcome> RenewalEngine::run(queue::Job job)
{
    if (job.type == scanJob) {
        const ScanResult result = co_await scan();
        if (result.errorText.isEmpty())
            co_return queue::JobOutcome{};
        co_return queue::JobOutcome{queue::JobOutcome::Kind::Retry, -1, u"scan"_s, result.errorText};
    }
    if (job.type == removeJob) {
        const queue::JobOutcome outcome = co_await m_removals.run(job);
        co_return outcome;
    }
    const qint64 begunMs = m_ports.clock.monotonicMs();
    const queue::JobOutcome outcome = co_await m_renewals.run(job);
    m_backlog.measured(m_ports.clock.monotonicMs() - begunMs);
    countFinished();
    wakeForProbe();
    co_return outcome;
}

/// A full batch is followed by the next one before it has run dry, not at the next minute.
void RenewalEngine::countFinished()
{
    m_liveOfLastScan = std::max(0, m_liveOfLastScan - 1);
    if (m_lastScan.due == batchSize() && m_liveOfLastScan == batchSize() / 4)
        requestScan();
}

/// Those who wait for a breaker are due when its probe is: the scan of the next minute would come too late.
void RenewalEngine::wakeForProbe()
{
    const std::optional<qint64> waitMs = m_incidents.nextWakeMs();
    // One that is about to fire is left alone: a scan too many costs nothing.
    if (waitMs && (!m_probe.isActive() || *waitMs + afterProbeTimeMs < m_probe.remainingTime()))
        m_probe.start(static_cast<int>(*waitMs + afterProbeTimeMs));
}

Error RenewalEngine::observing() const
{
    const QString text = m_providers.heldBecause().isEmpty()
        ? u"Renewing is in observe mode, which calls nothing: set mode = \"renew\"."_s
        : m_providers.heldBecause();
    return {u"conflict"_s, text, {}};
}

QCoro::Task<Result<queue::EnqueueResult>> RenewalEngine::renewNow(QString account, bool takeOver)
{
    const Result<store::AccountRow> row = co_await m_ports.store.find(account);
    if (!row)
        co_return fail(row.error());
    const Result<> active = co_await makeActive(*row, takeOver);
    if (!active)
        co_return fail(active.error());
    QList<queue::JobSpec> specs;
    for (const core::Subscription &subscription : row->subscriptions)
        specs.append(forcedSpec(subscription, takeOver));
    const auto results = co_await m_ports.enqueue(specs);
    if (!results)
        co_return fail(results.error());
    if (results->isEmpty())
        co_return fail(u"conflict"_s, u"The account has nothing to renew."_s);
    co_return results->first();
}

/// Only one that is parked for another environment's watch becomes active, and only to take that over.
QCoro::Task<Result<>> RenewalEngine::makeActive(store::AccountRow row, bool takeOver)
{
    const core::AccountState state = row.account.state;
    const bool isForeign = state == core::AccountState::Parked && isOwnedElsewhere(row);
    if (state != core::AccountState::Active && !(isForeign && takeOver)) {
        const QString remedy = isForeign ? u"another environment holds its watch. End it there, or take it "
                                           u"over: tidekeeper accounts renew "
                                           "ID --take-over."_s
                                         : u"make it active first."_s;
        co_return fail(u"conflict"_s,
                       u"The account is %1, so it is not renewed: %2"_s.arg(toString(state), remedy),
                       {{u"state"_s, toString(state)}});
    }
    if (everyProviderObserves())
        co_return fail(observing());
    if (state == core::AccountState::Active)
        co_return Result<>();
    const qint64 nowMs = m_ports.clock.nowMs();
    const Result<> freed =
        co_await m_ports.store.setState(row.account, core::AccountState::Active, QString(), nowMs);
    co_return freed;
}

QCoro::Task<Result<QStringList>> RenewalEngine::renewNow(QList<store::AccountRow> rows)
{
    if (everyProviderObserves())
        co_return fail(observing());
    QList<queue::JobSpec> specs;
    for (const store::AccountRow &row : rows) {
        if (row.account.state != core::AccountState::Active)
            continue;
        for (const core::Subscription &subscription : row.subscriptions)
            specs.append(forcedSpec(subscription));
    }
    QStringList begun;
    for (qsizetype from = 0; from < specs.size(); from += mostAtOnce) {
        const QList<queue::JobSpec> some = specs.mid(from, mostAtOnce);
        const auto results = co_await m_ports.enqueue(some);
        if (!results)
            co_return fail(results.error().code, results.error().text, {{u"enqueued"_s, begun.size()}});
        for (qsizetype i = 0; i < some.size(); ++i) {
            if (isNew((*results)[i]))
                begun.append(some[i].payload.value("account"_L1).toString());
        }
    }
    begun.removeDuplicates();
    co_return begun;
}

QCoro::Task<Result<>> RenewalEngine::repair(QString account, QString subscription)
{
    if (everyProviderObserves())
        co_return fail(observing());
    core::Subscription row;
    row.account = account;
    row.id = subscription;
    queue::JobSpec spec = forcedSpec(row);
    spec.payload.insert("repair"_L1, true);
    spec.urgent = false; // it may be one of many, and none of them lapses
    const QList<queue::JobSpec> specs{spec};
    const auto results = co_await m_ports.enqueue(specs);
    if (!results)
        co_return fail(results.error());
    if (results->isEmpty() || !isNew(results->first()))
        co_return fail(u"conflict"_s, u"A silent watch is not repaired: its renewal is under way already."_s);
    co_return Result<>();
}

QCoro::Task<Result<int>> RenewalEngine::pullForward(QList<store::AccountRow> rows, qint64 spreadMs)
{
    const Result<int> moved =
        co_await m_ports.store.pullForward(std::move(rows), spreadMs, m_ports.clock.nowMs());
    if (moved && *moved > 0)
        requestScan();
    co_return moved;
}

void RenewalEngine::hold(const QString &reason)
{
    m_providers.holdAll(reason);
    if (reason.isEmpty())
        requestScan();
}

/// True as well while there is no provider at all: rows are counted and nothing is called.
bool RenewalEngine::everyProviderObserves() const
{
    const auto &all = m_providers.all();
    return std::all_of(all.begin(), all.end(), [](const Provider &provider) { return provider.observe; });
}

int RenewalEngine::batchSize() const
{
    int size = 0;
    for (const Provider &provider : m_providers.all())
        size = std::max(size, provider.batchSize);
    return size > 0 ? size : mostAtOnce;
}

} // namespace tidekeeper::renewal
