// SPDX-License-Identifier: Apache-2.0
#include "google/world/settings.h"

#include "google/control/fields.h"

#include <QtCore/QUrl>

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
        {u"push_retry_ms"_s, &Settings::pushRetryMs, 1, 60'000},
    };
    return list;
}

void readPush(Fields &fields, Settings &changed)
{
    changed.pushUrl = fields.string(u"push_url"_s, changed.pushUrl);
    const QUrl url(changed.pushUrl, QUrl::StrictMode);
    if (!changed.pushUrl.isEmpty()
        && (url.host().isEmpty() || (url.scheme() != u"http"_s && url.scheme() != u"https"_s)))
        fields.complain(u"The field push_url must be an address that begins with http: or https:."_s);
    changed.pushTokenAudience = fields.string(u"push_token_audience"_s, changed.pushTokenAudience);
    changed.pushServiceAccount = fields.string(u"push_service_account"_s, changed.pushServiceAccount);
    changed.pushShape = fields.string(u"push_shape"_s, changed.pushShape);
    if (changed.pushShape != u"wire"_s && changed.pushShape != u"guide"_s)
        fields.complain(u"The field push_shape must be wire or guide."_s);
}

} // namespace

QJsonObject Settings::toJson() const
{
    QJsonObject object{
        {u"preset"_s, toString(preset)},
        {u"charge_refused"_s, chargeRefused},
        {u"strict_watch"_s, strictWatch},
        {u"user_limit_answer"_s, userLimitAnswer},
        {u"push_url"_s, pushUrl},
        {u"push_token_audience"_s, pushTokenAudience},
        {u"push_service_account"_s, pushServiceAccount},
        {u"push_shape"_s, pushShape},
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
    readPush(fields, changed);
    if (fields.problem().isEmpty())
        settings = changed;
    return fields.problem();
}

} // namespace tidekeeper::googlesim
