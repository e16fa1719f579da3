// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/breakerstore.h"
#include "store/wavestore.h"

namespace tidekeeper::renewal {

/// What stops many accounts at once, as all engines of one database share it. Meaning and failures as of
/// store::BreakerStore and store::WaveStore.
class IncidentStore {
public:
    virtual ~IncidentStore() = default;

    virtual QCoro::Task<Result<QList<store::BreakerRow>>> breakers() = 0;
    virtual QCoro::Task<Result<bool>> openBreaker(store::BreakerRow row) = 0;
    virtual QCoro::Task<Result<bool>> replaceBreaker(store::BreakerRow row) = 0;
    virtual QCoro::Task<Result<bool>> closeBreaker(QString scope, qint64 generation) = 0;

    virtual QCoro::Task<Result<QList<store::Wave>>> currentWaves(qint64 confirmedAfterMs) = 0;
    virtual QCoro::Task<Result<QList<store::Wave>>> allWaves(int limit) = 0;
    virtual QCoro::Task<Result<store::WaveStore::Opened>> openWave(store::Wave wave,
                                                                   store::BreakerRow breaker) = 0;
    virtual QCoro::Task<Result<QStringList>> restore(store::Wave wave, qint64 nowMs) = 0;
    virtual QCoro::Task<Result<>> hold(qint64 wave, QString account, QString fingerprint, qint64 nowMs) = 0;
    virtual QCoro::Task<Result<bool>> recover(qint64 wave, QString account, QString fingerprint,
                                              qint64 nowMs) = 0;
    virtual QCoro::Task<Result<store::Wave>> confirm(qint64 wave, QString actor, qint64 nowMs) = 0;
};

/// On the accounts' database.
class SqlIncidentStore final : public IncidentStore {
public:
    explicit SqlIncidentStore(store::Database &database) : m_breakers(database), m_waves(database) { }

    QCoro::Task<Result<QList<store::BreakerRow>>> breakers() override { return m_breakers.all(); }
    QCoro::Task<Result<bool>> openBreaker(store::BreakerRow row) override
    {
        return m_breakers.open(std::move(row));
    }
    QCoro::Task<Result<bool>> replaceBreaker(store::BreakerRow row) override
    {
        return m_breakers.replace(std::move(row));
    }
    QCoro::Task<Result<bool>> closeBreaker(QString scope, qint64 generation) override
    {
        return m_breakers.close(std::move(scope), generation);
    }

    QCoro::Task<Result<QList<store::Wave>>> currentWaves(qint64 confirmedAfterMs) override
    {
        return m_waves.current(confirmedAfterMs);
    }
    QCoro::Task<Result<QList<store::Wave>>> allWaves(int limit) override { return m_waves.list(limit); }
    QCoro::Task<Result<store::WaveStore::Opened>> openWave(store::Wave wave,
                                                           store::BreakerRow breaker) override
    {
        return m_waves.open(std::move(wave), std::move(breaker));
    }
    QCoro::Task<Result<QStringList>> restore(store::Wave wave, qint64 nowMs) override
    {
        return m_waves.restore(std::move(wave), nowMs);
    }
    QCoro::Task<Result<>> hold(qint64 wave, QString account, QString fingerprint, qint64 nowMs) override
    {
        return m_waves.hold(wave, std::move(account), std::move(fingerprint), nowMs);
    }
    QCoro::Task<Result<bool>> recover(qint64 wave, QString account, QString fingerprint,
                                      qint64 nowMs) override
    {
        return m_waves.recover(wave, std::move(account), std::move(fingerprint), nowMs);
    }
    QCoro::Task<Result<store::Wave>> confirm(qint64 wave, QString actor, qint64 nowMs) override
    {
        return m_waves.confirm(wave, std::move(actor), nowMs);
    }

private:
    store::BreakerStore m_breakers;
    store::WaveStore m_waves;
};

} // namespace tidekeeper::renewal
