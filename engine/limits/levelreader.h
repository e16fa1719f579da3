// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/answercache.h"
#include "limits/levelrows.h"
#include "limits/projects.h"

namespace tidekeeper::limits {

/// How full the buckets are, for people: read from Redis, where the clients of all engines and those without one leave
/// their marks. An answer is a second old at most, and many who ask at once cost Redis one reading. Thread of the
/// connection. Failures: unknown_limiter, unknown_project, limiter_unavailable, invalid_request with the field.
class LevelReader {
public:
    LevelReader(redis::RedisConnection &connection, redis::FunctionLibrary &library, const Projects &projects,
                const Clock &clock);

    /// The most drained accounts of all projects, whose address contains `filter` in any case: {"now", "projects",
    /// "buckets", "total", "complete"}. With a filter `total` is how many were found, and `complete` is false when not
    /// all active accounts were searched: the search ends with the first `most` hits and after 100,000 accounts, and
    /// an account that is not known by its address (Project::accountNamed) cannot be found by a part of it.
    QCoro::Task<Result<QJsonObject>> list(QString limiter, QString filter, int most);

    /// One account, active or not, with "uses": what each lane and caller was granted in the last minute.
    QCoro::Task<Result<QJsonObject>> account(QString limiter, QString project, QString account);

    /// {project: {"booked": …}} for a limiter's description. Projects that cannot be read are left out.
    QCoro::Task<QJsonObject> booked(QString limiter);

private:
    using Reading = std::shared_ptr<const Project>;

    QCoro::Task<Result<QJsonObject>> readList(QString limiter, QString filter, int most);
    QCoro::Task<Result<QJsonObject>> readBooked(QString limiter);
    QCoro::Task<Result<Levels>> top(Reading project, int most);
    QCoro::Task<Result<Levels>> of(Reading project, QByteArrayList names);
    QCoro::Task<Result<Levels>> ask(Reading project, QByteArrayList arguments);

    struct Found {
        QByteArrayList names;
        bool isAll = true;
    };
    QCoro::Task<Result<Found>> search(Reading project, QString filter, int most);

    redis::RedisConnection &m_connection;
    redis::FunctionLibrary &m_library;
    const Projects &m_projects;
    AnswerCache m_cache;
};

} // namespace tidekeeper::limits
