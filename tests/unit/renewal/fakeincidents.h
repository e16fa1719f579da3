// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "renewal/incidentstore.h"

#include <algorithm>

namespace tidekeeper::renewal::test {

using namespace Qt::StringLiterals;

/// The shared rows in memory; whom a wave brings back is up to the test.
class FakeIncidents : public IncidentStore {
public:
    QCoro::Task<Result<QList<store::BreakerRow>>> breakers() override
    {
        ++looks;
        if (away)
            co_return unavailable();
        co_return QList<store::BreakerRow>(rows); // a member would be moved out
    }

    QCoro::Task<Result<bool>> openBreaker(store::BreakerRow row) override
    {
        ++writes;
        if (away)
            co_return unavailable();
        if (index(row.scope) >= 0)
            co_return false;
        rows.append(row);
        co_return true;
    }

    QCoro::Task<Result<bool>> replaceBreaker(store::BreakerRow row) override
    {
        ++writes;
        if (away)
            co_return unavailable();
        const qsizetype at = index(row.scope);
        if (at < 0 || rows[at].generation != row.generation)
            co_return false;
        ++row.generation;
        rows[at] = row;
        co_return true;
    }

    QCoro::Task<Result<bool>> closeBreaker(QString scope, qint64 generation) override
    {
        ++writes;
        if (away)
            co_return unavailable();
        const qsizetype at = index(scope);
        if (at < 0 || rows[at].generation != generation)
            co_return false;
        rows.removeAt(at);
        co_return true;
    }

    QCoro::Task<Result<QList<store::Wave>>> currentWaves(qint64 confirmedAfterMs) override
    {
        QList<store::Wave> current;
        for (const store::Wave &wave : std::as_const(waves)) {
            if (wave.state == "open"_L1 || wave.endedAt > confirmedAfterMs)
                current.append(wave);
        }
        co_return current;
    }
    QCoro::Task<Result<QList<store::Wave>>> allWaves(int) override { co_return QList<store::Wave>(waves); }

    QCoro::Task<Result<store::WaveStore::Opened>> openWave(store::Wave wave,
                                                           store::BreakerRow breaker) override
    {
        ++writes;
        if (away)
            co_return unavailable();
        wave.id = waves.size() + 1;
        wave.state = u"open"_s;
        waves.append(wave);
        breaker.scope = store::waveScope(wave.id);
        rows.append(breaker);
        co_return store::WaveStore::Opened{wave, {}};
    }

    QCoro::Task<Result<QStringList>> restore(store::Wave, qint64) override { co_return QStringList(); }

    QCoro::Task<Result<>> hold(qint64, QString account, QString, qint64) override
    {
        ++writes;
        members.append(account);
        co_return Result<>();
    }

    QCoro::Task<Result<bool>> recover(qint64, QString, QString, qint64) override { co_return false; }
    QCoro::Task<Result<store::Wave>> confirm(qint64 wave, QString actor, qint64 nowMs) override
    {
        for (store::Wave &each : waves) {
            if (each.id != wave || each.state != "open"_L1)
                continue;
            each.state = u"confirmed"_s;
            each.endedAt = nowMs;
            each.endedBy = actor;
            rows.removeIf(
                [wave](const store::BreakerRow &row) { return row.scope == store::waveScope(wave); });
            co_return store::Wave(each);
        }
        co_return fail(u"conflict"_s, u"There is no such open wave."_s);
    }

    QList<store::BreakerRow> rows;
    QList<store::Wave> waves;
    QStringList members;
    bool away = false;
    int looks = 0;
    int writes = 0;

private:
    static tl::unexpected<Error> unavailable()
    {
        return fail(u"database_unavailable"_s, u"The database is away."_s);
    }
    qsizetype index(const QString &scope) const
    {
        const auto found = std::find_if(rows.begin(), rows.end(),
                                        [&](const store::BreakerRow &row) { return row.scope == scope; });
        return found == rows.end() ? -1 : std::distance(rows.begin(), found);
    }
};

} // namespace tidekeeper::renewal::test
