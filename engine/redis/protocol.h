// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisvalue.h"

#include <QtCore/QString>

struct redisReader;

namespace tidekeeper::redis {

/// Turns the bytes of a server into values, however they are cut. The only file that knows hiredis.
class ReplyReader {
public:
    enum class Next : quint8 { Complete, NeedsMore, Broken };

    ReplyReader();
    ~ReplyReader();
    Q_DISABLE_COPY_MOVE(ReplyReader)

    void feed(const char *bytes, qsizetype size);
    /// Moves the next whole reply into value. After Broken only reset() helps.
    Next next(Value &value);
    QString problem() const; ///< why the reader is Broken
    void reset(); ///< for a new connection

private:
    redisReader *m_reader = nullptr;
    Value m_root; ///< the reply under construction
};

/// Appends one command, arguments as they are (binary safe). arguments must not be empty.
void appendCommand(QByteArray &buffer, const QList<QByteArray> &arguments);

} // namespace tidekeeper::redis
