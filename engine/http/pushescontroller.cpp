// SPDX-License-Identifier: Apache-2.0
#include "http/pushescontroller.h"

#include "core/account.h"
#include "http/accountfields.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr qsizetype mostPushes = 1'000;
constexpr qsizetype mostEmailBytes = 320;

/// A number is exact up to 2^63 - 1; greater ids come as strings.
Result<QString> idOf(const QJsonValue &value)
{
    const qint64 number = value.toInteger(-1);
    const QString text = value.isDouble() && number >= 0 ? QString::number(number) : value.toString();
    if (!value.isUndefined() && !core::historyId(text))
        return badField(u"history_id"_s, u"must be an unsigned 64 bit number, as a number or in a string."_s);
    return text;
}

Result<> readPush(const QJsonValue &value, QMap<QString, QString> &pushes)
{
    if (!value.isObject())
        return badField(u"pushes"_s, u"must be an array of objects with email and history_id."_s);
    const QJsonObject push = value.toObject();
    if (Result<> known = checkFieldNames(push, {u"email"_s, u"history_id"_s}, {}); !known)
        return known;
    const Result<QString> email = textField(u"email"_s, push["email"_L1], mostEmailBytes, Null::Refused);
    if (!email)
        return fail(email.error());
    const Result<QString> id = idOf(push["history_id"_L1]);
    if (!id)
        return fail(id.error());
    QString &newest = pushes[core::normalizedEmail(*email)];
    if (!core::isStaleHistory(*id, newest))
        newest = *id;
    return {};
}

} // namespace

PushesController::PushesController(Router &router, renewal::PushProof &proof) : m_proof(proof)
{
    router.add(Method::Post, u"/api/v1/pushes"_s, Role::Consumer,
               [this](Request request) { return report(std::move(request)); });
}

QCoro::Task<Response> PushesController::report(Request request)
{
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    QJsonArray list{*body};
    if (body->contains("pushes"_L1)) {
        if (const Result<> known = checkFieldNames(*body, {u"pushes"_s}, {}); !known)
            co_return Response::problem(known.error());
        list = body->value("pushes"_L1).toArray();
        if (!body->value("pushes"_L1).isArray() || list.size() > mostPushes)
            co_return Response::problem(
                badField(u"pushes"_s, u"must be an array of at most 1,000 pushes."_s).value());
    }
    QMap<QString, QString> pushes;
    for (const QJsonValue &value : std::as_const(list)) {
        if (const Result<> read = readPush(value, pushes); !read)
            co_return Response::problem(read.error());
    }
    const QStringList emails = pushes.keys();
    const Result<QSet<QString>> nobody = co_await m_proof.report(std::move(pushes));
    if (!nobody)
        co_return Response::problem(nobody.error());
    qint64 unknown = 0;
    for (const QString &email : emails)
        unknown += nobody->contains(email) ? 1 : 0;
    co_return Response::json({{u"taken"_s, list.size()}, {u"unknown"_s, unknown}});
}

} // namespace tidekeeper::http
