// SPDX-License-Identifier: Apache-2.0
#include "settings/limitersettings.h"

#include "core/account.h"
#include "log/log.h"
#include "settings/fit.h"

#include <QCoro/QCoroSignal>

using namespace Qt::StringLiterals;

namespace tidekeeper::settings {

namespace {

constexpr int lookMs = 500; // so that a change is in force everywhere within a second
constexpr int mostAttempts = 3; // against others who change the same setting
constexpr qsizetype longestAccountBytes = 320;

const QString logName = u"settings"_s;
const QString enabledName = u"enabled"_s;

Result<> checkAccount(const QString &account)
{
    if (!account.isEmpty() && account.toUtf8().size() <= longestAccountBytes)
        return {};
    return fail(u"invalid_settings"_s, u"The account must be an address of at most 320 bytes of UTF-8."_s,
                {{u"field"_s, u"account"_s}});
}

} // namespace

LimiterSettings::LimiterSettings(store::SettingsStore &store, limits::LimiterRegistry &registry,
                                 limits::AccountOverrides &overrides, const Clock &clock)
    : m_store(store), m_registry(registry), m_overrides(overrides), m_clock(clock)
{
    m_timer.setInterval(lookMs);
    connect(&m_timer, &QTimer::timeout, this, [this] {
        if (!m_isLooking)
            look();
    });
}

QCoro::Task<> LimiterSettings::take(LimiterProfile profile)
{
    const QString name = profile.limiter->describe()["name"_L1].toString();
    const bool isNew = m_states.try_emplace(name, LimiterState{.profile = std::move(profile)}).second;
    if (isNew)
        co_await look();
}

void LimiterSettings::start()
{
    m_timer.start();
}

QCoro::Task<> LimiterSettings::stop()
{
    m_timer.stop();
    while (m_isLooking)
        co_await qCoro(this, &LimiterSettings::looked);
}

Result<const LimiterState *> LimiterSettings::find(const QString &limiter) const
{
    const auto state = m_states.find(limiter);
    if (state != m_states.end() && m_registry.names().contains(limiter))
        return &state->second;
    return fail(m_registry.unknown(limiter));
}

QCoro::Task<> LimiterSettings::look()
{
    while (m_isLooking)
        co_await qCoro(this, &LimiterSettings::looked);
    m_isLooking = true;
    const Result<Stored> stored = co_await m_store.all(limiterPrefix);
    noteReading(stored);
    for (auto state = m_states.begin(); stored && state != m_states.end(); ++state)
        co_await bring(state->first, *stored);
    m_overrides.retry();
    m_isLooking = false;
    Q_EMIT looked();
}

/// What was read last stays in force while the database is away.
void LimiterSettings::noteReading(const Result<Stored> &read)
{
    const QString problem = read ? QString() : read.error().text;
    if (problem.isEmpty() != m_readProblem.isEmpty()) {
        if (problem.isEmpty())
            log::info(logName, u"The settings of limiters are read again."_s);
        else
            log::error(logName, u"The settings of limiters stay as they were read last: "_s + problem);
    }
    m_readProblem = problem;
}

QCoro::Task<> LimiterSettings::bring(QString limiter, Stored stored)
{
    LimiterState &state = m_states.at(limiter);
    const QJsonObject wanted = stored.value(settingName(limiter));
    const bool isNew = wanted != state.stored;
    if (isNew || !state.problem.isEmpty()) {
        // The switch works whatever else is wrong: it is for the day when something is.
        m_registry.setEnabled(limiter, wanted[enabledName].toBool(true));
        const Result<Fit> fit = co_await fitting(state.profile, wanted);
        Result<> taken = fit ? Result<>() : fail(fit.error());
        if (fit)
            taken = co_await adjust(state.profile, fit->settings, Adjust::Now);
        state.stored = wanted;
        if (taken) {
            state.applied = fit->settings;
            state.misfits = fit->misfits;
        }
        noteTaking(limiter, state, taken);
        if (taken || isNew)
            Q_EMIT changed(limiter);
    }
    bringOverrides(limiter, state, stored);
}

/// Each thing that is wrong is logged once.
void LimiterSettings::noteTaking(const QString &limiter, LimiterState &state, const Result<> &taken)
{
    const QString problem = taken ? QString() : taken.error().text;
    if (!taken && problem != state.problem)
        log::error(logName, u"The limiter does not take over its settings: "_s + problem,
                   {{u"limiter"_s, limiter}});
    state.problem = problem;
    for (const Misfit &misfit : taken ? state.misfits : QList<Misfit>())
        log::warning(logName, u"A stored setting does not fit and has no effect: "_s + misfit.text,
                     {{u"limiter"_s, limiter}, {u"field"_s, misfit.field}});
}

void LimiterSettings::bringOverrides(const QString &limiter, LimiterState &state, const Stored &stored)
{
    const QString prefix = overridePrefix(limiter);
    Stored rows;
    for (auto row = stored.lowerBound(prefix); row != stored.end() && row.key().startsWith(prefix); ++row)
        rows.insert(row.key(), row.value());
    const QJsonObject policies = state.profile.projectLimits();
    if (rows == state.overrideRows && policies == state.overridePolicies)
        return;

    const bool isNew = rows != state.overrideRows;
    state.takeOverrides(limiter, rows, policies);
    QMap<QString, limits::AccountOverrides::Wanted> wanted;
    qsizetype misfits = state.strayOverrides.size();
    for (const auto &[name, own] : state.overrides) {
        if (own.checked)
            wanted[name.project].insert(name.account, own.checked->limits);
        else
            ++misfits;
    }
    for (const QString &project : policies.keys())
        m_overrides.set(limiter, project, wanted.value(project));
    if (misfits > 0)
        log::warning(logName, u"Limits of single accounts that do not fit have no effect."_s,
                     {{u"limiter"_s, limiter}, {u"accounts"_s, misfits}});
    if (isNew)
        Q_EMIT changed(limiter);
}

QCoro::Task<Result<>> LimiterSettings::change(QString limiter, QJsonObject patch, QString actor)
{
    const Result<const LimiterState *> state = find(limiter);
    if (!state)
        co_return fail(state.error());
    const QString setting = settingName(limiter);
    Result<> kept;
    for (int attempt = 0; attempt < mostAttempts; ++attempt) {
        const Result<Stored> read = co_await m_store.all(setting);
        if (!read)
            co_return fail(read.error());
        const QJsonObject before = read->value(setting);
        const Result<QJsonObject> sound = (*state)->profile.checked(patch, before);
        if (!sound)
            co_return fail(sound.error());
        // A new setting is judged beside those that fit; those that do not stay where they are.
        const Result<Fit> fit = co_await fitting((*state)->profile, before);
        if (!fit)
            co_return fail(fit.error());
        const QJsonObject together = merged(fit->settings, *sound);
        const Result<QJsonObject> agreed = co_await whole((*state)->profile, together);
        if (!agreed)
            co_return fail(agreed.error());
        const QJsonObject after = merged(before, *sound);
        kept = co_await keep(setting, before, after, actor);
        if (kept || kept.error().code != "setting_changed"_L1)
            co_return kept;
    }
    co_return fail(u"conflict"_s, kept.error().text);
}

/// Writes to the database and waits until it is in force here.
QCoro::Task<Result<>> LimiterSettings::keep(QString setting, QJsonObject before, QJsonObject after,
                                            QString actor)
{
    if (before != after) {
        const Result<> replaced = co_await m_store.replace(setting, before, after, actor, m_clock.nowMs());
        if (!replaced)
            co_return replaced;
    }
    co_await look();
    co_return Result<>();
}

QCoro::Task<Result<>> LimiterSettings::putOverride(QString limiter, OverrideName name, QJsonObject limits,
                                                   QString actor)
{
    const Result<const LimiterState *> state = find(limiter);
    if (!state)
        co_return fail(state.error());
    name.account = core::normalizedEmail(name.account);
    if (const Result<> sound = checkAccount(name.account); !sound)
        co_return sound;
    if (const auto checked = AccountOverride::from((*state)->profile.projectLimits(), name.project, limits);
        !checked)
        co_return fail(checked.error());
    const Result<> replaced = co_await replaceOverride(limiter, name, limits, actor);
    co_return replaced;
}

QCoro::Task<Result<>> LimiterSettings::removeOverride(QString limiter, OverrideName name, QString actor)
{
    if (const auto state = find(limiter); !state)
        co_return fail(state.error());
    name.account = core::normalizedEmail(name.account);
    const Result<> replaced = co_await replaceOverride(limiter, name, {}, actor);
    co_return replaced;
}

QCoro::Task<Result<>> LimiterSettings::replaceOverride(QString limiter, OverrideName name, QJsonObject after,
                                                       QString actor)
{
    const auto &overrides = m_states.at(limiter).overrides;
    const auto known = overrides.find(name);
    const QString setting = known == overrides.end() ? settingName(limiter, name) : known->second.setting;
    Result<> kept;
    for (int attempt = 0; attempt < mostAttempts; ++attempt) {
        const Result<Stored> read = co_await m_store.all(setting);
        if (!read)
            co_return fail(read.error());
        if (after.isEmpty() && !read->contains(setting))
            co_return fail(u"not_found"_s,
                           u"This account has no limits of its own in project \"%1\"."_s.arg(name.project));
        const QJsonObject before = read->value(setting);
        kept = co_await keep(setting, before, after, actor);
        if (kept || kept.error().code != "setting_changed"_L1)
            co_return kept;
    }
    co_return fail(u"conflict"_s, kept.error().text);
}

} // namespace tidekeeper::settings
