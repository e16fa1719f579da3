// SPDX-License-Identifier: Apache-2.0
#include "renewal/incidents.h"

#include "core/planner.h"
#include "log/log.h"

#include <QCoro/QCoroSignal>
#include <QtCore/QCryptographicHash>
#include <QtCore/QtEndian>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

using core::Hold;
using core::OutcomeKind;
using store::Wave;

namespace {

constexpr int lookMs = 500; // so that what opens or closes is known everywhere within a second
constexpr qint64 confirmedForMs = core::dayMs;
// An attempt that ended just before its wave was seen may be saved only now, by any engine.
constexpr qint64 stragglersForMs = 2 * core::minuteMs;
constexpr qint64 stragglersEveryMs = 5'000;

const QString waveRemedy =
    u"Look whether the client's secret, its consent screen or an admin's policy was changed. When it is "
    u"mended, all go "
    "on by themselves; when the grants are really gone: tidekeeper accounts wave confirm %1."_s;

bool isOpen(const Wave &wave)
{
    return wave.state == "open"_L1;
}

QJsonObject eventOf(const Wave &wave)
{
    return {{u"wave"_s, wave.id},
            {u"project"_s, wave.project},
            {u"client"_s, wave.client},
            {u"code"_s, wave.code}};
}

/// What an attempt came to, when it was made elsewhere and is only known by class and code.
Attempted knownAs(const core::EndedAttempt &attempt)
{
    core::Outcome outcome = core::Outcome::transient(attempt.code, {});
    outcome.kind = attempt.kind;
    return {outcome, Step::Token, false};
}

} // namespace

QString heldFor(const core::Subscription &row)
{
    return row.errorClass == toString(OutcomeKind::Configuration) ? row.errorCode : QString();
}

quint64 accountHash(const QString &account)
{
    const QByteArray hash = QCryptographicHash::hash(account.toUtf8(), QCryptographicHash::Sha256);
    return std::max<quint64>(1, qFromLittleEndian<quint64>(hash.constData()));
}

Incidents::Incidents(Ports &ports) : m_ports(ports), m_breakers(ports.incidents, ports.clock)
{
    m_timer.setInterval(lookMs);
    connect(&m_timer, &QTimer::timeout, this, [this] {
        if (!m_isLooking)
            look();
    });
}

void Incidents::start()
{
    m_timer.start();
    look();
}

QCoro::Task<> Incidents::stop()
{
    m_timer.stop();
    while (m_isLooking)
        co_await qCoro(this, &Incidents::looked);
}

QCoro::Task<> Incidents::look()
{
    while (m_isLooking)
        co_await qCoro(this, &Incidents::looked);
    m_isLooking = true;
    co_await lookAtBreakers();
    co_await lookAtWaves();
    m_isLooking = false;
    Q_EMIT changed();
    Q_EMIT looked();
}

QCoro::Task<> Incidents::lookAtBreakers()
{
    const Result<QList<store::BreakerRow>> rows = co_await m_ports.incidents.breakers();
    if (rows)
        close(m_breakers.take(*rows), false);
    noteReading(rows ? QString() : rows.error().text);
}

QCoro::Task<> Incidents::lookAtWaves()
{
    const qint64 nowMs = m_ports.clock.nowMs();
    const Result<QList<Wave>> waves = co_await m_ports.incidents.currentWaves(nowMs - confirmedForMs);
    if (!waves)
        co_return;
    const QList<Wave> before = std::exchange(m_waves, *waves);
    m_isKnown = true;
    for (const Wave &wave : before) {
        const auto isIt = [&wave](const Wave &other) { return other.id == wave.id && isOpen(other); };
        if (isOpen(wave) && std::none_of(m_waves.cbegin(), m_waves.cend(), isIt)) {
            m_window.forgetClient(wave.project, wave.client);
            Q_EMIT ended();
        }
    }
    if (nowMs - m_restoredAtMs < stragglersEveryMs)
        co_return;
    m_restoredAtMs = nowMs;
    for (const Wave &wave : *waves) {
        if (isOpen(wave) && nowMs - wave.openedAt < stragglersForMs)
            co_await restoreStragglers(wave);
    }
}

QCoro::Task<> Incidents::restoreStragglers(Wave wave)
{
    const Result<QStringList> restored = co_await m_ports.incidents.restore(wave, m_ports.clock.nowMs());
    for (const QString &account : restored.value_or(QStringList())) {
        QJsonObject event = eventOf(wave);
        event.insert(u"account"_s, account);
        m_ports.publish(u"account.restored"_s, event);
    }
}

/// What was read last stays in force while the database is away.
void Incidents::noteReading(const QString &problem)
{
    if (problem.isEmpty() != m_readProblem.isEmpty()) {
        if (problem.isEmpty())
            log::info(u"renewal"_s, u"Breakers and waves are read again."_s);
        else
            log::error(u"renewal"_s, u"Breakers and waves are not read: "_s + problem);
    }
    m_readProblem = problem;
}

QCoro::Task<Breakers::Ticket> Incidents::admit(core::Account account, QString metCode, bool forced)
{
    if (!m_isKnown)
        co_await look();
    const Breakers::Ticket ticket = co_await m_breakers.admit(account, metCode, forced);
    co_return ticket;
}

QCoro::Task<Incidents::Verdict> Incidents::judge(store::AccountRow row, QString metCode,
                                                 Breakers::Ticket ticket, Attempted attempted)
{
    const core::Account account = row.account;
    const core::Outcome outcome = attempted.outcome;
    note(account, outcome);
    const Breakers::Changes changes = co_await m_breakers.report(account, ticket, attempted);
    close(changes.closed, true);
    for (const store::BreakerRow &opened : changes.opened)
        m_ports.publish(u"project.breaker_open"_s, shown(opened));

    Verdict verdict;
    if (core::stopsAccount(outcome))
        verdict.hold = co_await judgeLoss(row, attempted);
    else if (outcome.kind == OutcomeKind::Transient)
        verdict.hold = co_await judgeTrouble(account, attempted);
    else if (outcome.kind == OutcomeKind::Renewed)
        co_await judgeSuccess(row, metCode, attempted.freshToken);
    const auto stop = m_breakers.stopOf(account);
    verdict.waitMs = stop ? stop->waitMs : 0;
    co_return verdict;
}

void Incidents::note(const core::Account &account, const core::Outcome &outcome)
{
    if (!core::saysSomething(outcome))
        return;
    const core::EndedAttempt attempt{m_ports.clock.nowMs(),
                                     account.project,
                                     account.client,
                                     accountHash(account.id),
                                     outcome.kind,
                                     outcome.code,
                                     1};
    m_window.add(attempt);
    m_ports.shareAttempt(attempt);
}

QCoro::Task<> Incidents::arrived(QList<core::EndedAttempt> attempts)
{
    for (const core::EndedAttempt &attempt : std::as_const(attempts))
        m_window.add(attempt);
    if (!m_isKnown)
        co_return; // the decision comes with the next attempt
    const qint64 nowMs = m_ports.clock.nowMs();
    for (const core::EndedAttempt &attempt : std::as_const(attempts)) {
        core::Account account;
        account.project = attempt.project;
        account.client = attempt.client;
        const Attempted attempted = knownAs(attempt);
        if (attempt.kind == OutcomeKind::Transient && m_window.mostlyTransient(account.project, nowMs))
            co_await openPause(account, attempted);
        if (!core::stopsAccount(attempted.outcome) || find(account.project, account.client, attempt.code))
            continue;
        const auto suspected = m_window.wave(account.project, account.client, attempt.code, nowMs);
        if (suspected)
            co_await openWave(account, attempted, *suspected);
    }
}

/// A wave that is open holds the account; one that was confirmed says that the loss is real.
QCoro::Task<Hold> Incidents::judgeLoss(store::AccountRow row, Attempted attempted)
{
    const core::Account account = row.account;
    const QString code = attempted.outcome.code;
    const qint64 nowMs = m_ports.clock.nowMs();
    const Wave *wave = find(account.project, account.client, code);
    if (!wave) {
        const auto suspected = m_window.wave(account.project, account.client, code, nowMs);
        if (!suspected)
            co_return Hold::None;
        co_await openWave(account, attempted, *suspected);
        wave = find(account.project, account.client, code);
    }
    if (!wave)
        co_return Hold::Wave; // it could not be stored: nobody is stopped on a suspicion
    if (!isOpen(*wave))
        co_return Hold::None;
    const qint64 id = wave->id;
    const Result<> held = co_await m_ports.incidents.hold(id, account.id, row.grantFingerprint, nowMs);
    if (!held)
        log::warning(u"renewal"_s, u"A member of a wave was not noted: "_s + held.error().text);
    co_return Hold::Wave;
}

QCoro::Task<> Incidents::openWave(core::Account account, Attempted attempted, core::SuspectedWave suspected)
{
    Wave wave;
    wave.project = account.project;
    wave.client = account.client;
    wave.code = attempted.outcome.code;
    wave.text =
        u"%1 accounts of client \"%2\" met %3 at once, among %4 attempts: more likely one fault than as many "
        "lost grants. None of them is stopped."_s.arg(QString::number(suspected.accounts), account.client,
                                                      wave.code, QString::number(suspected.attempts));
    wave.sinceMs = suspected.sinceMs;
    wave.openedAt = m_ports.clock.nowMs();

    store::BreakerRow breaker;
    breaker.openedAt = wave.openedAt;
    attempted.outcome.scope = core::FaultScope::Client;
    attempted.outcome.text = wave.text;
    breaker.fault = faultObject(BreakerKind::Wave, account, attempted);
    core::Breaker state;
    state.fail(wave.openedAt, core::Breaker::Admission::Pass);
    breaker.state = state.state();

    const Result<store::WaveStore::Opened> opened = co_await m_ports.incidents.openWave(wave, breaker);
    co_await look(); // also when another engine opened it
    if (!opened)
        co_return;
    QJsonObject event = eventOf(opened->wave);
    event.insert(u"text"_s, wave.text);
    event.insert(u"remedy"_s, waveRemedy.arg(opened->wave.id));
    event.insert(u"accounts"_s, suspected.accounts);
    event.insert(u"restored"_s, opened->restored.size());
    m_ports.publish(u"wave.opened"_s, event);
    for (const QString &restored : opened->restored) {
        QJsonObject whom = eventOf(opened->wave);
        whom.insert(u"account"_s, restored);
        m_ports.publish(u"account.restored"_s, whom);
    }
}

QCoro::Task<Hold> Incidents::judgeTrouble(core::Account account, Attempted attempted)
{
    const QString scope = pauseScope(account.project);
    if (!m_breakers.isOpen(scope)) {
        if (!m_window.mostlyTransient(account.project, m_ports.clock.nowMs()))
            co_return Hold::None;
        co_await openPause(account, attempted);
    }
    co_return m_breakers.isOpen(scope) ? Hold::Pause : Hold::None;
}

QCoro::Task<> Incidents::openPause(core::Account account, Attempted attempted)
{
    const QString scope = pauseScope(account.project);
    if (m_breakers.isOpen(scope))
        co_return;
    core::Outcome &outcome = attempted.outcome;
    outcome.text =
        u"Most attempts of project \"%1\" fail for a while (%2): it pauses and probes once a minute."_s.arg(
            account.project, outcome.code);
    outcome.remedy = u"Look at the network and at Google's status page; it goes on by itself."_s;
    const QJsonObject fault = faultObject(BreakerKind::Transient, account, attempted);
    const bool opened = co_await m_breakers.open(scope, fault);
    if (!opened)
        co_return;
    QJsonObject event = fault;
    event.remove("step"_L1);
    event.remove("grant_kind"_L1);
    m_ports.publish(u"project.breaker_open"_s, event);
}

/// A member that is renewed with the very grant for which it was held shows that the wave is over.
QCoro::Task<> Incidents::judgeSuccess(store::AccountRow row, QString metCode, bool freshToken)
{
    const Wave *wave = metCode.isEmpty() ? nullptr : find(row.account.project, row.account.client, metCode);
    // An access token that was kept from before proves nothing.
    if (!wave || !isOpen(*wave) || !freshToken)
        co_return;
    const Wave over = *wave;
    const Result<bool> recovered = co_await m_ports.incidents.recover(
        over.id, row.account.id, row.grantFingerprint, m_ports.clock.nowMs());
    if (!recovered || !*recovered)
        co_return;
    m_ports.publish(u"wave.recovered"_s, eventOf(over));
    co_await look();
}

/// here: by an attempt of this engine, which is the one to tell.
void Incidents::close(const QList<store::BreakerRow> &rows, bool here)
{
    for (const store::BreakerRow &row : rows) {
        if (kindOf(row) == BreakerKind::Transient)
            m_window.forgetTransients(row.fault.value("project"_L1).toString());
        if (here)
            m_ports.publish(u"project.breaker_closed"_s, shown(row));
    }
}

QCoro::Task<Result<QList<Wave>>> Incidents::waves(int limit)
{
    return m_ports.incidents.allWaves(limit);
}

QCoro::Task<Result<Wave>> Incidents::confirm(qint64 wave, QString actor)
{
    const Result<Wave> confirmed = co_await m_ports.incidents.confirm(wave, actor, m_ports.clock.nowMs());
    if (!confirmed)
        co_return confirmed;
    QJsonObject event = eventOf(*confirmed);
    event.insert(u"members"_s, confirmed->members);
    event.insert(u"by"_s, confirmed->endedBy);
    m_ports.publish(u"wave.confirmed"_s, event);
    co_await look();
    co_return confirmed;
}

/// The one that is open or, failing that, the one that was confirmed.
const Wave *Incidents::find(const QString &project, const QString &client, const QString &code) const
{
    const Wave *found = nullptr;
    for (const Wave &wave : m_waves) {
        if (wave.project == project && wave.client == client && wave.code == code && (!found || isOpen(wave)))
            found = &wave;
    }
    return found;
}

QString Incidents::holdingWave(const core::Account &account, const QString &metCode) const
{
    const Wave *wave = metCode.isEmpty() ? nullptr : find(account.project, account.client, metCode);
    return wave && isOpen(*wave) ? wave->text : QString();
}

QJsonArray Incidents::openBreakers() const
{
    QJsonArray open = m_breakers.open(BreakerKind::Configuration);
    for (const QJsonValue &wave : m_breakers.open(BreakerKind::Wave))
        open.append(wave);
    return open;
}

QJsonArray Incidents::openWaves() const
{
    QJsonArray open;
    for (const Wave &wave : m_waves) {
        if (!isOpen(wave))
            continue;
        QJsonObject object = eventOf(wave);
        object.insert(u"id"_s, object.take(u"wave"_s));
        object.insert(u"text"_s, wave.text);
        object.insert(u"remedy"_s, waveRemedy.arg(wave.id));
        object.insert(u"opened_at"_s, wave.openedAt);
        open.append(object);
    }
    return open;
}

} // namespace tidekeeper::renewal
