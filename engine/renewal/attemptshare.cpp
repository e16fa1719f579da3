// SPDX-License-Identifier: Apache-2.0
#include "renewal/attemptshare.h"

#include "core/planner.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QMap>
#include <QtCore/QPointer>
#include <QtCore/QRandomGenerator>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

using core::EndedAttempt;
using core::OutcomeKind;

namespace {

const QByteArray streamKey("tk:{renewal}:attempts");
constexpr int everyMs = 1'000;
constexpr qint64 keptMs = core::dayMs;
constexpr int mostPerRead = 500; // entries
// Failures that wait for a Redis that is away: far more than any decision needs.
constexpr qsizetype mostWaiting = 5'000;

/// The others are no more than a number to those who decide.
bool countsByItself(OutcomeKind kind)
{
    return kind == OutcomeKind::Revoked || kind == OutcomeKind::Account || kind == OutcomeKind::Transient;
}

OutcomeKind kindFrom(const QString &word)
{
    for (const auto kind : {OutcomeKind::Revoked, OutcomeKind::Account}) {
        if (word == toString(kind))
            return kind;
    }
    return OutcomeKind::Transient;
}

} // namespace

QByteArray entryOf(const QList<EndedAttempt> &attempts)
{
    struct Client {
        int others = 0;
        QJsonArray failures;
    };
    QMap<std::pair<QString, QString>, Client> clients;
    for (const EndedAttempt &attempt : attempts) {
        Client &client = clients[{attempt.project, attempt.client}];
        if (countsByItself(attempt.kind))
            client.failures.append(
                QJsonArray{QString::number(attempt.account, 36), toString(attempt.kind), attempt.code});
        else
            client.others += attempt.count;
    }
    QJsonArray entry;
    for (auto it = clients.cbegin(); it != clients.cend(); ++it)
        entry.append(QJsonObject{{u"p"_s, it.key().first},
                                 {u"c"_s, it.key().second},
                                 {u"n"_s, it->others},
                                 {u"f"_s, it->failures}});
    return QJsonDocument(entry).toJson(QJsonDocument::Compact);
}

QList<EndedAttempt> attemptsOf(const QByteArray &entry, qint64 atMs)
{
    QList<EndedAttempt> attempts;
    const QJsonArray clients = QJsonDocument::fromJson(entry).array();
    for (const QJsonValue &client : clients) {
        EndedAttempt attempt;
        attempt.atMs = atMs;
        attempt.project = client["p"_L1].toString();
        attempt.client = client["c"_L1].toString();
        attempt.count = client["n"_L1].toInt();
        if (attempt.count > 0)
            attempts.append(attempt);
        attempt.count = 1;
        for (const QJsonValue &failure : client["f"_L1].toArray()) {
            attempt.account = failure[0].toString().toULongLong(nullptr, 36);
            attempt.kind = kindFrom(failure[1].toString());
            attempt.code = failure[2].toString();
            attempts.append(attempt);
        }
    }
    return attempts;
}

AttemptShare::AttemptShare(redis::RedisConnection &connection, const Clock &clock, QObject *parent)
    : QObject(parent), m_connection(connection), m_clock(clock),
      m_engineId(QByteArray::number(QRandomGenerator::system()->generate64(), 36))
{
    m_timer.setInterval(everyMs);
    connect(&m_timer, &QTimer::timeout, this, [this] {
        write();
        read();
    });
}

void AttemptShare::start()
{
    m_timer.start();
    read();
}

void AttemptShare::stop()
{
    m_timer.stop();
}

void AttemptShare::add(const EndedAttempt &attempt)
{
    if (!countsByItself(attempt.kind)) {
        for (EndedAttempt &waiting : m_waiting) {
            if (!countsByItself(waiting.kind) && waiting.project == attempt.project
                && waiting.client == attempt.client) {
                waiting.count += attempt.count;
                return;
            }
        }
    }
    if (m_waiting.size() < mostWaiting)
        m_waiting.append(attempt);
}

void AttemptShare::write()
{
    if (m_waiting.isEmpty() || !m_connection.isReady())
        return;
    const QByteArray oldest = QByteArray::number(m_clock.nowMs() - keptMs);
    const QList<EndedAttempt> written = std::exchange(m_waiting, {});
    const QPointer<AttemptShare> self(this);
    m_connection.send({"XADD", streamKey, "MINID", "~", oldest, "*", "e", m_engineId, "a", entryOf(written)},
                      [self, written](const Result<redis::Value> &added) {
                          if (!self || (added && !added->isError()))
                              return;
                          for (const EndedAttempt &attempt : written)
                              self->add(attempt);
                      });
}

void AttemptShare::read()
{
    if (m_isReading || !m_connection.isReady())
        return;
    m_isReading = true;
    const QByteArray from =
        m_seenId.isEmpty() ? QByteArray::number(m_clock.nowMs() - keptMs) : '(' + m_seenId;
    const QPointer<AttemptShare> self(this);
    m_connection.send({"XRANGE", streamKey, from, "+", "COUNT", QByteArray::number(mostPerRead)},
                      [self](const Result<redis::Value> &reply) {
                          if (!self)
                              return;
                          self->m_isReading = false;
                          if (reply && reply->type == redis::Value::Type::Array)
                              self->take(*reply);
                      });
}

void AttemptShare::take(const redis::Value &reply)
{
    QList<EndedAttempt> attempts;
    for (const redis::Value &entry : reply.items) {
        if (entry.items.size() != 2 || entry.items[1].items.size() != 4)
            continue;
        m_seenId = entry.items[0].text;
        const qint64 atMs = m_seenId.left(m_seenId.indexOf('-')).toLongLong();
        if (entry.items[1].items[1].text != m_engineId)
            attempts += attemptsOf(entry.items[1].items[3].text, atMs);
    }
    if (!attempts.isEmpty())
        Q_EMIT arrived(attempts);
    if (reply.items.size() == mostPerRead)
        read();
}

} // namespace tidekeeper::renewal
