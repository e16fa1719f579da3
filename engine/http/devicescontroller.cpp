// SPDX-License-Identifier: Apache-2.0
#include "http/devicescontroller.h"

#include "http/accountfields.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

using store::DeviceChange;

namespace {

constexpr qsizetype mostPlatformBytes = 64;

Result<DeviceChange> sealedFor(const QString &account, const QString &token, const oauth::Sealing &sealing)
{
    QByteArray plain = token.toUtf8();
    Result<QByteArray> sealed = sealing.seal(plain, account);
    DeviceChange change;
    change.keyId = sealing.keyId();
    // Ids have no control characters, so account and token cannot run into each other.
    change.fingerprint = sealing.valueFingerprint(account.toUtf8() + '\0' + plain);
    oauth::cleanse(plain);
    if (!sealed)
        return fail(sealed.error());
    change.sealedToken = std::move(*sealed);
    return change;
}

Result<DeviceChange> readDevice(const QString &account, const QJsonObject &body,
                                const oauth::Sealing &sealing)
{
    const auto names =
        checkFieldNames(body, {u"token"_s, u"platform"_s, u"language"_s}, {u"id"_s, u"last_seen_at"_s});
    if (!names)
        return fail(names.error());
    const Result<QString> token = secretField(u"token"_s, body[u"token"_s]);
    if (!token)
        return fail(token.error());
    Result<DeviceChange> change = sealedFor(account, *token, sealing);
    if (!change)
        return change;
    if (body.contains(u"platform"_s)) {
        const auto platform = textField(u"platform"_s, body[u"platform"_s], mostPlatformBytes, Null::Empty);
        if (!platform)
            return fail(platform.error());
        change->platform = *platform;
    }
    if (body.contains(u"language"_s)) {
        const auto language = languageField(u"language"_s, body[u"language"_s]);
        if (!language)
            return fail(language.error());
        change->language = *language;
    }
    return change;
}

} // namespace

protocol::DeviceView deviceView(const store::Device &device)
{
    return {device.id, device.platform, device.language, device.lastSeenAt};
}

DevicesController::DevicesController(Router &router, store::DeviceStore &devices,
                                     const oauth::Sealing &sealing, const Clock &clock)
    : m_devices(devices), m_sealing(sealing), m_clock(clock)
{
    const auto all = u"/api/v1/accounts/{id}/devices"_s;
    const auto route = [&](Method method, const QString &path, Role role, auto member) {
        router.add(method, path, role,
                   [this, member](Request request) { return (this->*member)(std::move(request)); });
    };
    route(Method::Get, all, Role::Viewer, &DevicesController::list);
    route(Method::Post, all, Role::Operator, &DevicesController::add);
    route(Method::Delete, all + u"/{device}"_s, Role::Operator, &DevicesController::remove);
}

QCoro::Task<Response> DevicesController::shown(QString account, int status)
{
    const auto devices = co_await m_devices.list(account);
    if (!devices)
        co_return Response::problem(devices.error());
    QList<protocol::DeviceView> views;
    for (const store::Device &device : *devices)
        views.append(deviceView(device));
    co_return Response::json(protocol::toJson(views), status);
}

QCoro::Task<Response> DevicesController::list(Request request)
{
    return shown(request.parameters[u"id"_s], 200);
}

QCoro::Task<Response> DevicesController::add(Request request)
{
    const QString account = request.parameters[u"id"_s];
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<DeviceChange> change = readDevice(account, *body, m_sealing);
    if (!change)
        co_return Response::problem(change.error());
    const Result<bool> created = co_await m_devices.put(account, *change, m_clock.nowMs());
    if (!created)
        co_return Response::problem(created.error());
    Response response = co_await shown(account, *created ? 201 : 200);
    co_return response;
}

QCoro::Task<Response> DevicesController::remove(Request request)
{
    const QString account = request.parameters[u"id"_s];
    const Result<> removed = co_await m_devices.remove(account, request.parameters[u"device"_s]);
    if (!removed)
        co_return Response::problem(removed.error());
    Response response = co_await shown(account, 200);
    co_return response;
}

} // namespace tidekeeper::http
