// SPDX-License-Identifier: Apache-2.0
#include "renewal/custodian.h"

#include "log/log.h"

#include <QtCore/QJsonArray>
#include <QtCore/QUuid>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

using core::Custody;
using core::CustodyRecord;

const QString Custodian::settingName = u"database.custody"_s;

namespace {

constexpr int everyMs = 60'000;
constexpr int soonMs = 5'000; // what could not be settled yet
constexpr int attempts = 5; // other engines may start at the same moment
const QString byItself = u"engine"_s; // in the audit

QString newCluster()
{
    return QUuid::createUuid().toString(QUuid::WithoutBraces);
}

QJsonObject objectOf(const CustodyRecord &record)
{
    if (record.engines.isEmpty())
        return {};
    return {{u"cluster"_s, record.cluster}, {u"engines"_s, QJsonArray::fromStringList(record.engines)}};
}

bool works(Custody custody)
{
    return custody == Custody::Holds || custody == Custody::Joins;
}

} // namespace

Custodian::Custodian(Ports ports, QObject *parent) : QObject(parent), m_ports(std::move(ports))
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, [this] { look(); });
}

QCoro::Task<> Custodian::start()
{
    m_isRunning = true;
    co_await look();
}

void Custodian::stop()
{
    m_isRunning = false;
    m_timer.stop();
}

QCoro::Task<> Custodian::look()
{
    const Result<Custody> custody = co_await judge();
    const bool isSettled = custody && *custody != Custody::Unclear;
    if (custody)
        settle(core::custodyText(*custody));
    else if (!m_wasJudged)
        settle(u"The database does not say yet who may work on it: "_s + custody.error().text);
    m_wasJudged = m_wasJudged || custody.has_value(); // a database that goes away later changes nothing
    if (m_isRunning)
        m_timer.start(isSettled ? everyMs : soonMs);
}

/// Joins when it may. Another engine that joins meanwhile changes the record, so it is read again.
QCoro::Task<Result<Custody>> Custodian::judge()
{
    for (int attempt = 1;; ++attempt) {
        const Result<CustodyRecord> record = co_await read();
        if (!record)
            co_return fail(record.error());
        std::optional<QString> cluster;
        if (m_ports.mark)
            cluster = co_await m_ports.mark->read();
        const Custody custody = core::custodyOf({m_ports.engine, *record, m_ports.mark != nullptr, cluster});
        if (custody == Custody::Holds && cluster && cluster->isEmpty())
            co_await m_ports.mark->claim(record->cluster); // it lost everything
        if (custody != Custody::Joins)
            co_return custody;
        const Result<> joined = co_await join(*record);
        if (joined)
            co_return custody;
        if (joined.error().code != "setting_changed"_L1 || attempt == attempts)
            co_return fail(joined.error());
    }
}

QCoro::Task<Result<>> Custodian::join(CustodyRecord record)
{
    const QJsonObject before = objectOf(record);
    if (record.cluster.isEmpty()) {
        record.cluster = newCluster();
        // First in Redis, so that engines that start at the same moment find one id there.
        std::optional<QString> claimed;
        if (m_ports.mark)
            claimed = co_await m_ports.mark->claim(record.cluster);
        if (claimed && !claimed->isEmpty())
            record.cluster = *claimed;
    }
    record.engines.append(m_ports.engine);
    const QJsonObject after = objectOf(record);
    const Result<> replaced =
        co_await m_ports.settings.replace(settingName, before, after, byItself, m_ports.clock.nowMs());
    co_return replaced;
}

QCoro::Task<Result<bool>> Custodian::adopt(QString actor)
{
    const Result<Custody> custody = co_await judge();
    if (!custody)
        co_return fail(custody.error());
    if (works(*custody)) {
        settle({});
        co_return false;
    }
    const Result<CustodyRecord> record = co_await read();
    if (!record)
        co_return fail(record.error());
    const CustodyRecord ours{newCluster(), {m_ports.engine}};
    const QJsonObject before = objectOf(*record);
    const QJsonObject after = objectOf(ours);
    const Result<> replaced =
        co_await m_ports.settings.replace(settingName, before, after, actor, m_ports.clock.nowMs());
    if (!replaced)
        co_return fail(replaced.error());
    if (m_ports.mark)
        co_await m_ports.mark->replace(ours.cluster);
    settle({});
    co_return true;
}

QCoro::Task<Result<CustodyRecord>> Custodian::read()
{
    const Result<QMap<QString, QJsonObject>> settings = co_await m_ports.settings.all(settingName);
    if (!settings)
        co_return fail(settings.error());
    const QJsonObject object = settings->value(settingName);
    CustodyRecord record;
    record.cluster = object["cluster"_L1].toString();
    const QJsonArray engines = object["engines"_L1].toArray();
    for (const QJsonValue &engine : engines)
        record.engines.append(engine.toString());
    co_return record;
}

void Custodian::settle(const QString &reason)
{
    if (reason == m_reason)
        return;
    m_reason = reason;
    if (reason.isEmpty())
        log::info(u"renewal"_s, u"This engine may work on its database: renewing goes on."_s);
    else
        log::error(u"renewal"_s, reason);
    m_ports.hold(reason);
}

} // namespace tidekeeper::renewal
