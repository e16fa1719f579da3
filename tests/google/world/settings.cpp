// SPDX-License-Identifier: Apache-2.0
#include "google/world/settings.h"

#include "google/control/fields.h"

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

struct Number {
    QString name;
    qint64 Settings::*member;
    qint64 least;
    qint64 most = 1'000'000'000'000;
};

const QList<Number> &numbers()
{
    static const QList<Number> list{
        {u"user_limit_per_minute"_s, &Settings::userLimitPerMinute, 0},
        {u"project_limit_per_minute"_s, &Settings::projectLimitPerMinute, 0},
        {u"concurrency"_s, &Settings::concurrency, 1},
        {u"latency_ms"_s, &Settings::latencyMs, 0, 600'000},
        {u"watch_lifetime_ms"_s, &Settings::watchLifetimeMs, 1},
        {u"token_lifetime_s"_s, &Settings::tokenLifetimeS, 1},
        {u"jwt_skew_s"_s, &Settings::jwtSkewS, 0},
        {u"history_records"_s, &Settings::historyRecords, 1},
        {u"fcm_limit_per_minute"_s, &Settings::fcmLimitPerMinute, 1},
    };
    return list;
}

} // namespace

QJsonObject Settings::toJson() const
{
    QJsonObject object{
        {u"preset"_s, toString(preset)},
        {u"charge_refused"_s, chargeRefused},
        {u"strict_watch"_s, strictWatch},
        {u"user_limit_answer"_s, userLimitAnswer},
    };
    for (const Number &number : numbers())
        object.insert(number.name, this->*number.member);
    return object;
}

QString apply(Settings &settings, const QJsonObject &changes)
{
    Fields fields(changes);
    Settings changed = settings;
    for (const Number &number : numbers()) {
        qint64 &value = changed.*number.member;
        value = fields.integer(number.name, value, number.least, number.most);
    }
    changed.chargeRefused = fields.boolean(u"charge_refused"_s, changed.chargeRefused);
    changed.strictWatch = fields.boolean(u"strict_watch"_s, changed.strictWatch);
    const auto preset = presetFrom(fields.string(u"preset"_s, toString(changed.preset)));
    if (!preset)
        fields.complain(u"The field preset must be gmail-2026 or gmail-legacy."_s);
    changed.preset = preset.value_or(changed.preset);
    changed.userLimitAnswer = fields.string(u"user_limit_answer"_s, changed.userLimitAnswer);
    const QStringList answers{u"forbidden"_s, u"too_many_requests"_s, u"exhausted"_s};
    if (!answers.contains(changed.userLimitAnswer))
        fields.complain(u"The field user_limit_answer must be one of %1."_s.arg(answers.join(u", "_s)));
    if (fields.problem().isEmpty())
        settings = changed;
    return fields.problem();
}

} // namespace tidekeeper::googlesim
