// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisconnection.h"

namespace tidekeeper::redis {

/// One Redis function library out of lua/: loads it when it is absent or older than ours, and again when the
/// server says "Function not found". Thread of the connection.
class FunctionLibrary {
public:
    /// name: "tidekeeper_quota"; build: taken from the line "-- build: N" of the code; the library registers a
    /// function <name>_build that returns it.
    FunctionLibrary(RedisConnection &connection, QByteArray name, QByteArray code);

    /// The code of lua/<file>, compiled into the program.
    static QByteArray embedded(const QString &file);

    /// Loads when needed; several callers at once share one load. Failures: redis_*, functions_refused (with the
    /// server's text).
    QCoro::Task<Result<>> ensureLoaded();

    /// FCALL function keys… arguments… with one reload and retry after "Function not found" (which means: not
    /// executed), all within timeoutMs (0: the connection's own, and 2 s for the reload). The server's other errors
    /// come back as Value::Error. Failures: redis_*, functions_refused, and functions_missing: the library was gone
    /// and the call did not end in time after that; it may have been executed.
    QCoro::Task<Result<Value>> call(QByteArray function, QList<QByteArray> keys, QList<QByteArray> arguments,
                                    int timeoutMs = 0);
    /// The same for the hot path, without a coroutine frame.
    void call(const QByteArray &function, const QList<QByteArray> &keys, const QList<QByteArray> &arguments,
              RedisConnection::Callback callback, int timeoutMs = 0);

    int build() const;
    const QByteArray &name() const;

private:
    class Loader;
    struct Again;
    std::shared_ptr<Loader> m_loader; ///< shared with the calls under way
};

} // namespace tidekeeper::redis
