// SPDX-License-Identifier: Apache-2.0
#include "http/pubsubcontroller.h"

#include "http/pubsubmessage.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr qint64 warnEveryMs = 60'000;

Response acknowledged()
{
    Response response;
    response.status = 204;
    return response;
}

Response isOff()
{
    return Response::problem(Error::failure(
        u"not_found"_s,
        u"Pushes from Pub/Sub are off: set push.audience and push.service_account in the configuration."_s));
}

} // namespace

PubsubController::PubsubController(Router &router, Ports ports) : m_ports(std::move(ports))
{
    router.add(Method::Post, u"/pubsub/push"_s, Role::None,
               [this](Request request) { return push(std::move(request)); });
}

QCoro::Task<Response> PubsubController::push(Request request)
{
    if (!m_ports.check)
        co_return isOff();
    const QByteArray token = bearerToken(request.headers);
    if (token.isEmpty())
        co_return noToken();
    const Result<> checked = co_await m_ports.check(token);
    if (!checked)
        co_return refused(checked.error());
    const std::optional<GmailPush> gmail = gmailPushFrom(request.body);
    if (!gmail) {
        m_ports.count(u"unreadable"_s);
        warn(u"Pub/Sub pushed what is no notification of Gmail; it is acknowledged and passed over. "
             "Does somebody else publish to the topic?"_s);
        co_return acknowledged();
    }
    QMap<QString, QString> pushes;
    pushes.insert(gmail->email, gmail->historyId);
    const Result<QSet<QString>> nobody = co_await m_ports.report(std::move(pushes));
    if (!nobody)
        co_return refused(nobody.error());
    m_ports.count(nobody->isEmpty() ? u"taken"_s : u"unknown"_s);
    co_return acknowledged();
}

Response PubsubController::noToken()
{
    m_ports.count(u"no_token"_s);
    warn(u"A push came without a bearer token. Does the subscription have authentication enabled?"_s);
    Response response = Response::problem(Error::failure(
        u"unauthorized"_s, u"Pushes carry a token of Google: enable authentication at the subscription."_s));
    response.headers.emplaceBack("WWW-Authenticate", "Bearer realm=\"tidekeeper\"");
    return response;
}

/// Both kinds make Pub/Sub send it again; only a refused token is the sender's fault.
Response PubsubController::refused(const Error &error)
{
    m_ports.count(error.details["reason"_L1].toString(error.code));
    warn(u"A push was not taken: "_s + error.text);
    return Response::problem(error);
}

void PubsubController::warn(const QString &sentence)
{
    const qint64 nowMs = m_ports.monotonicMs();
    if (m_warnedAtMs && nowMs - *m_warnedAtMs < warnEveryMs)
        return;
    m_warnedAtMs = nowMs;
    m_ports.warn(sentence);
}

} // namespace tidekeeper::http
