// SPDX-License-Identifier: Apache-2.0
#include "app/scanmark.h"

namespace tidekeeper::app {

namespace {

const QByteArray key("tk:{renewal}:last_scan");
constexpr int timeoutMs = 1'000;

} // namespace

void ScanMark::note(qint64 atMs)
{
    m_connection.send({"SET", key, QByteArray::number(atMs)}, [](const Result<redis::Value> &) {});
}

QCoro::Task<qint64> ScanMark::read()
{
    if (!m_connection.isReady())
        co_return 0;
    QList<QByteArray> get{"GET", key};
    const Result<redis::Value> at = co_await m_connection.command(std::move(get), timeoutMs);
    co_return at ? at->toInteger() : 0;
}

} // namespace tidekeeper::app
