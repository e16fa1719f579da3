// SPDX-License-Identifier: Apache-2.0
#include "watchrenewalplugin.h"

#include "decide/stopfirst.h"
#include "decide/watchanswer.h"
#include "decide/watchrequest.h"

#include <tidekeeper/callback.h>

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>

#include <algorithm>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace watchrenewal {

namespace {

/// Below the engine's 10 s, so that our answer comes before it stops waiting.
constexpr qint64 deadlineMs = 9'500;

ApiAnswer answerOf(const Status &status, const QJsonObject &result)
{
    const QJsonObject headers = result.value("headers"_L1).toObject();
    return {status.code,
            status.text,
            result.value("status"_L1).toInt(),
            headers.value("retry-after"_L1).toString(),
            headers.value("date"_L1).toString(),
            result.value("body"_L1).toString()};
}

} // namespace

Status WatchRenewalPlugin::initialize(Host *host)
{
    m_clock = service<Clock>(host);
    m_http = service<Http>(host);
    const QJsonObject projects = host->projects();
    for (auto project = projects.begin(); project != projects.end(); ++project)
        m_topics.insert(project.key(), project.value().toObject().value("topic"_L1).toString());
    return settingsFrom(host->configuration(), &m_settings);
}

void WatchRenewalPlugin::start(Reply *reply)
{
    reply->finish(Status::success(), {});
}

void WatchRenewalPlugin::stop(Reply *reply)
{
    reply->finish(Status::success(), {});
}

QJsonObject WatchRenewalPlugin::describe() const
{
    return {{u"provider"_s, u"gmail"_s},
            {u"lifetime_ms"_s, lifetimeMs},
            {u"window_ms"_s, m_settings.windowMs},
            {u"limiter"_s, u"gmail"_s},
            {u"method"_s, u"gmail.users.watch"_s},
            {u"cost"_s, 100},
            {u"remove_method"_s, u"gmail.users.stop"_s},
            {u"scopes"_s, QJsonArray{u"https://www.googleapis.com/auth/gmail.readonly"_s}},
            {u"cursor_keys"_s, QJsonArray{u"history_id"_s}},
            {u"mode"_s, m_settings.mode},
            {u"batch_size"_s, m_settings.batchSize},
            {u"cron"_s, m_settings.cron},
            {u"consumers"_s, m_settings.consumers},
            {u"prefetch"_s, m_settings.prefetch}};
}

void WatchRenewalPlugin::renew(const QJsonObject &subscription, const QString &accessToken, Reply *reply)
{
    const Call call = begin(subscription, accessToken, reply);
    if (call.topic.isEmpty()) {
        finish(call,
               {{u"outcome"_s, u"configuration"_s},
                {u"code"_s, u"no_topic"_s},
                {u"scope"_s, u"project"_s},
                {u"text"_s, u"The project has no Pub/Sub topic to watch with."_s},
                {u"remedy"_s, u"Set topic = \"projects/PROJECT/topics/TOPIC\" in the project's section."_s}});
        return;
    }
    if (isRepair(call.subscription, m_clock->nowMs())) {
        stopThenWatch(call, u"repaired_at"_s);
        return;
    }
    watch(call, [=, this](const ApiAnswer &answer) {
        if (isOwnedElsewhere(answer) && mayTakeOver(call.subscription, m_clock->nowMs()))
            stopThenWatch(call, u"taken_over_at"_s);
        else
            finish(call, outcomeOf(call, answer));
    });
}

/// Stop once, watch once; whatever the second answer is, it ends the renewal. mark: see afterStop().
void WatchRenewalPlugin::stopThenWatch(const Call &call, const QString &mark)
{
    stopWatch(call, [=, this](const ApiAnswer &stopped) {
        const QJsonObject stopOutcome = removeOutcome(stopped, m_clock->nowMs());
        if (stopOutcome.value("outcome"_L1) != "gone"_L1) {
            finish(call, stopOutcome);
            return;
        }
        watch(call, [=, this](const ApiAnswer &answer) {
            finish(call, afterStop(outcomeOf(call, answer), mark, m_clock->nowMs()));
        });
    });
}

QJsonObject WatchRenewalPlugin::outcomeOf(const Call &call, const ApiAnswer &watchAnswer) const
{
    const QJsonObject outcome = renewOutcome(watchAnswer, m_clock->nowMs());
    if (isOwnedElsewhere(watchAnswer))
        return withOwnerRemedy(outcome, call.subscription, call.topic);
    return hasOwnTopic(call.subscription) ? withOwnTopicFault(outcome) : outcome;
}

void WatchRenewalPlugin::remove(const QJsonObject &subscription, const QString &accessToken, Reply *reply)
{
    const Call call = begin(subscription, accessToken, reply);
    stopWatch(call,
              [=, this](const ApiAnswer &answer) { finish(call, removeOutcome(answer, m_clock->nowMs())); });
}

WatchRenewalPlugin::Call WatchRenewalPlugin::begin(const QJsonObject &subscription,
                                                   const QString &accessToken, Reply *reply) const
{
    const QString projectTopic = m_topics.value(subscription.value("project"_L1).toString());
    return {subscription, topicOf(subscription, projectTopic), accessToken,
            m_clock->monotonicMs() + deadlineMs, reply};
}

void WatchRenewalPlugin::watch(const Call &call, OnAnswer onAnswer)
{
    const QJsonDocument body(watchBody(call.subscription, call.topic));
    send(call, u"watch"_s, body.toJson(QJsonDocument::Compact), std::move(onAnswer));
}

void WatchRenewalPlugin::stopWatch(const Call &call, OnAnswer onAnswer)
{
    send(call, u"stop"_s, {}, std::move(onAnswer));
}

void WatchRenewalPlugin::send(const Call &call, const QString &verb, const QByteArray &body,
                              OnAnswer onAnswer)
{
    QJsonObject headers;
    if (!body.isEmpty())
        headers.insert(u"Content-Type"_s, u"application/json"_s);
    const QJsonObject request{
        {u"method"_s, u"POST"_s},
        {u"base"_s, u"gmail"_s},
        {u"path"_s, u"/gmail/v1/users/me/"_s + verb},
        {u"headers"_s, headers},
        {u"body"_s, QString::fromUtf8(body)},
        {u"bearer"_s, call.accessToken},
        {u"deadline_ms"_s, std::max<qint64>(1, call.endsAtMs - m_clock->monotonicMs())}};
    m_http->send(
        request,
        whenDone(this, [onAnswer = std::move(onAnswer)](const Status &status, const QJsonObject &result) {
            onAnswer(answerOf(status, result));
        }));
}

void WatchRenewalPlugin::finish(const Call &call, const QJsonObject &outcome) const
{
    call.reply->finish(Status::success(), outcome);
}

} // namespace watchrenewal
