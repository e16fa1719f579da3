// SPDX-License-Identifier: Apache-2.0
#include "renewal/mailboxleases.h"

#include "core/account.h"
#include "queue/leases.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QTimer>
#include <QtCore/QUuid>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr qint64 leaseMs = 8'000;
constexpr int renewEveryMs = 2'500;
constexpr qint64 longestWaitMs = 10'000;
constexpr qint64 pollMs = 500;

QCoro::Task<> renewOnce(queue::Leases &leases, QString name, QByteArray owner)
{
    // Nothing to do about a loss: compare-and-set on the row decides then.
    co_await leases.renew(name, owner, leaseMs);
}

QCoro::Task<> releaseOnce(queue::Leases &leases, QString name, QByteArray owner)
{
    co_await leases.release(name, owner);
}

class Hold {
public:
    Hold(queue::Leases &leases, QString name, QByteArray owner)
        : m_leases(leases), m_name(std::move(name)), m_owner(std::move(owner))
    {
        m_timer.setInterval(renewEveryMs);
        QObject::connect(&m_timer, &QTimer::timeout, &m_timer,
                         [this] { renewOnce(m_leases, m_name, m_owner); });
        m_timer.start();
    }
    ~Hold() { releaseOnce(m_leases, m_name, m_owner); }
    Q_DISABLE_COPY_MOVE(Hold)

private:
    queue::Leases &m_leases;
    QString m_name;
    QByteArray m_owner;
    QTimer m_timer;
};

} // namespace

QString mailboxKey(const QString &email)
{
    const QByteArray hash =
        QCryptographicHash::hash(core::normalizedEmail(email).toUtf8(), QCryptographicHash::Sha256);
    return QString::fromLatin1(
        hash.left(18).toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
}

QCoro::Task<Result<MailboxHold>> RedisMailboxLeases::take(QString mailbox)
{
    const QString name = u"mailbox:"_s + mailbox;
    const QByteArray owner = QUuid::createUuid().toRfc4122().toHex();
    for (qint64 waitedMs = 0;;) {
        const Result<queue::LeaseState> state = co_await m_leases.acquire(name, owner, leaseMs);
        if (!state)
            co_return fail(state.error());
        if (state->held)
            co_return MailboxHold(std::make_shared<Hold>(m_leases, name, owner));
        if (waitedMs >= longestWaitMs)
            co_return MailboxHold();
        const qint64 stepMs = std::clamp<qint64>(state->remainingMs, 10, pollMs);
        co_await m_sleep(stepMs);
        waitedMs += stepMs;
    }
}

} // namespace tidekeeper::renewal
