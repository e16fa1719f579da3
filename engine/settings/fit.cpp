// SPDX-License-Identifier: Apache-2.0
#include "settings/fit.h"

#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::settings {

namespace {

constexpr int adjustMs = 5'000;

} // namespace

QCoro::Task<Result<>> adjust(LimiterProfile profile, QJsonObject settings, Adjust how)
{
    settings.remove("enabled"_L1); // the engine's own switch
    if (!profile.live && settings.isEmpty())
        co_return Result<>();
    if (!profile.live)
        co_return fail(u"invalid_settings"_s,
                       u"This limiter can only be switched on and off while it runs."_s,
                       {{u"field"_s, settings.keys().first()}});
    // Not in one expression: g++ 12 destroys converted temporaries of an awaited call twice.
    QCoro::Task<Result<QJsonObject>> adjusting = pluginhost::call(
        adjustMs, [&](Reply *reply) { profile.live->adjust(settings, how == Adjust::DryRun, reply); },
        {profile.lateAnswers, {}});
    const Result<QJsonObject> done = co_await adjusting;
    co_return done ? Result<>() : fail(done.error());
}

QCoro::Task<Result<QJsonObject>> whole(LimiterProfile profile, QJsonObject settings)
{
    Result<QJsonObject> sound = profile.checked(settings);
    if (!sound)
        co_return sound;
    const Result<> agreed = co_await adjust(profile, *sound, Adjust::DryRun);
    if (!agreed)
        sound = fail(agreed.error());
    co_return sound;
}

/// A setting may fit only after another one is taken in, so those that do not are tried again until nothing moves.
QCoro::Task<Result<Fit>> fitting(LimiterProfile profile, QJsonObject stored)
{
    Fit fit;
    Result<QJsonObject> all = co_await whole(profile, stored);
    if (all) {
        fit.settings = *all;
        co_return fit;
    }
    QList<Leaf> open = leavesOf(stored);
    for (bool moves = true; moves;) {
        moves = false;
        fit.misfits.clear();
        for (const Leaf &leaf : std::exchange(open, {})) {
            const QJsonObject candidate = merged(fit.settings, leaf.change);
            const Result<QJsonObject> more = co_await whole(profile, candidate);
            if (!more && pluginhost::isUnanswered(more.error()))
                co_return fail(more.error());
            if (more) {
                fit.settings = *more;
                moves = true;
            } else {
                open.append(leaf);
                fit.misfits.append({leaf.field, more.error().text});
            }
        }
    }
    co_return fit;
}

} // namespace tidekeeper::settings
