// SPDX-License-Identifier: Apache-2.0
#include "app/hostservices.h"

#include "http/accountview.h"
#include "http/devicescontroller.h"
#include "log/log.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

QCoro::Task<> enqueueAndAnswer(queue::JobQueue &queue, queue::JobSpec spec, Reply *reply)
{
    const Result<queue::EnqueueResult> result = co_await queue.enqueue(std::move(spec));
    if (result)
        reply->finish(Status::success(), {{u"job"_s, result->job}, {u"result"_s, result->result}});
    else
        reply->finish(result.error(), {});
}

QCoro::Task<> showAccount(store::AccountStore &accounts, QString id, qint64 nowMs, qint64 windowMs,
                          Reply *reply)
{
    const Result<store::AccountRow> row = co_await accounts.find(std::move(id));
    if (row)
        reply->finish(Status::success(), protocol::toJson(http::accountView(*row, nowMs, windowMs)));
    else
        reply->finish(row.error(), {});
}

QCoro::Task<> showDevices(store::DeviceStore &stored, std::shared_ptr<const oauth::Sealing> sealing,
                          QString accountId, Reply *reply)
{
    const Result<QList<store::Device>> devices = co_await stored.list(accountId);
    if (!devices) {
        reply->finish(devices.error(), {});
        co_return;
    }
    QJsonArray opened;
    for (const store::Device &device : *devices) {
        const Result<QByteArray> token = sealing->unseal(device.sealedToken, device.keyId, accountId);
        if (!token) {
            log::warning(u"store"_s, u"A device gets no notices: "_s + token.error().text,
                         {{u"device"_s, device.id}, {u"code"_s, token.error().code}});
            continue;
        }
        QJsonObject json = protocol::toJson(http::deviceView(device));
        json.insert(u"token"_s, QString::fromUtf8(*token));
        opened.append(json);
    }
    reply->finish(Status::success(), {{u"devices"_s, opened}});
}

QCoro::Task<> forgetDevice(store::DeviceStore &devices, QString accountId, QString deviceId, Reply *reply)
{
    const Result<> removed = co_await devices.remove(std::move(accountId), std::move(deviceId));
    reply->finish(removed ? Status::success() : removed.error(), {});
}

} // namespace

void QueueService::enqueue(const QJsonObject &job, Reply *reply)
{
    queue::JobSpec spec;
    spec.type = job.value("type"_L1).toString();
    spec.payload = job.value("payload"_L1).toObject();
    spec.dedupeKey = job.value("dedupe"_L1).toString();
    spec.delayMs = job.value("delay_ms"_L1).toInteger();
    spec.urgent = job.value("urgent"_L1).toBool();
    if (spec.type.isEmpty()) {
        reply->finish(
            Status::failure(u"invalid_request"_s, u"A job needs a \"type\"."_s, {{u"field"_s, u"type"_s}}),
            {});
        return;
    }
    enqueueAndAnswer(m_queue, std::move(spec), reply);
}

AccountsService::AccountsService(store::AccountStore &accounts, store::DeviceStore &devices,
                                 std::shared_ptr<const oauth::Sealing> sealing, const Clock &clock,
                                 std::function<qint64()> windowMs, QObject *parent)
    : QObject(parent), m_accounts(accounts), m_devices(devices), m_sealing(std::move(sealing)),
      m_clock(clock), m_windowMs(std::move(windowMs))
{ }

void AccountsService::account(const QString &id, Reply *reply)
{
    showAccount(m_accounts, id, m_clock.nowMs(), m_windowMs(), reply);
}

void AccountsService::devices(const QString &accountId, Reply *reply)
{
    showDevices(m_devices, m_sealing, accountId, reply);
}

void AccountsService::removeDevice(const QString &accountId, const QString &deviceId, Reply *reply)
{
    forgetDevice(m_devices, accountId, deviceId, reply);
}

} // namespace tidekeeper::app
