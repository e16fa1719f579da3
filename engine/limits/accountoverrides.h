// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/projects.h"

#include <QtCore/QMap>
#include <QtCore/QObject>

#include <map>
#include <optional>
#include <set>

namespace tidekeeper::limits {

/// What one account has instead of its project's limits.
struct AccountLimits {
    qint64 capacity = 0; ///< units
    qint64 refillPerMinute = 0; ///< units
    qint64 reserveMilli = 0; ///< what bulk leaves, milli-units
    qint64 places = 0; ///< that it may hold

    QByteArrayList arguments() const; ///< of tidekeeper_override_v1
    bool operator==(const AccountLimits &) const = default;
};

/// Keeps the limits of single accounts in Redis as they are wanted here: sends what is missing or different, takes
/// back what nobody wants any more, and begins anew with each connection and each policy that was missing. Accounts are normalized addresses. Thread of
/// the connection.
class AccountOverrides final : public QObject {
    Q_OBJECT

public:
    using Wanted = QMap<QString, AccountLimits>; ///< by account

    AccountOverrides(redis::RedisConnection &connection, redis::FunctionLibrary &library, Projects &projects);

    /// All overrides of a project from now on.
    void set(const QString &limiter, const QString &project, const Wanted &wanted);
    /// Null when the account has none.
    const AccountLimits *find(const QString &limiter, const QString &project, const QString &account) const;

    /// Sends again what did not arrive; to be called now and then.
    void retry();

private:
    struct Own {
        std::optional<Keys> keys = {}; ///< none until the project is published
        Wanted wanted = {};
        std::map<QByteArray, QByteArrayList> known = {}; ///< by account key: in Redis, or on its way there
        std::map<QByteArray, QByteArrayList> toDo = {}; ///< empty arguments: take it back
        std::set<QByteArray> underWay = {};
        bool isListed = false; ///< the overrides that others left in Redis are in `known`
    };

    void bring(const QString &limiter, const QString &project);
    void beginAnew(Own &project);
    void compare(Own &project);
    void list(Own &project);
    void sendSome(Own &project);
    void send(Own &project, const QByteArray &accountKey, const QByteArrayList &arguments);

    redis::RedisConnection &m_connection;
    redis::FunctionLibrary &m_library;
    const Projects &m_published;
    std::map<std::pair<QString, QString>, Own> m_projects; ///< by limiter and name; never removed
};

} // namespace tidekeeper::limits
