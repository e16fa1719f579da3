// SPDX-License-Identifier: Apache-2.0
#include "store/stallguard.h"

#include <QtCore/QLibrary>
#include <QtCore/QVariant>
#include <QtSql/QSqlDriver>

#include <sys/socket.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

// The socket of the driver's PGconn. libpq is in the process already, as Qt's driver needs it; resolving the one
// function from it keeps it out of engines that run on SQLite. −1 when the connection is not open.
int socketOf(const QSqlDatabase &db)
{
    using Socket = int (*)(const void *);
    static const auto pqSocket = reinterpret_cast<Socket>(QLibrary::resolve(u"pq"_s, 5, "PQsocket"));
    const QVariant handle = db.driver()->handle();
    // PGconn is a typedef: which of its two names the variant has is up to the Qt version.
    const bool known = handle.isValid()
        && (qstrcmp(handle.typeName(), "PGconn*") == 0 || qstrcmp(handle.typeName(), "pg_conn*") == 0);
    if (!pqSocket || !known)
        return -1;
    const void *connection = *static_cast<void *const *>(handle.constData());
    return connection ? pqSocket(connection) : -1;
}

} // namespace

StallGuard::StallGuard() : m_watcher([this](std::stop_token stop) { watch(std::move(stop)); }) { }

StallGuard::~StallGuard() = default;

void StallGuard::begin(const QSqlDatabase &db, std::chrono::milliseconds time)
{
    const int socket = socketOf(db);
    const std::lock_guard lock(m_mutex);
    m_socket = socket;
    m_deadline = std::chrono::steady_clock::now() + time;
    m_changed.notify_one();
}

void StallGuard::end()
{
    const std::lock_guard lock(m_mutex);
    m_deadline.reset();
}

void StallGuard::watch(std::stop_token stop)
{
    std::unique_lock lock(m_mutex);
    while (!stop.stop_requested()) {
        if (!m_deadline) {
            m_changed.wait(lock, stop, [this] { return m_deadline.has_value(); });
        } else if (std::chrono::steady_clock::now() >= *m_deadline) {
            // Under the lock, so that the number is still this connection's.
            if (m_socket >= 0)
                ::shutdown(m_socket, SHUT_RDWR);
            m_deadline.reset();
        } else {
            const auto until = *m_deadline; // a later one is looked at then
            m_changed.wait_until(lock, stop, until, [&] { return m_deadline && *m_deadline < until; });
        }
    }
}

} // namespace tidekeeper::store
