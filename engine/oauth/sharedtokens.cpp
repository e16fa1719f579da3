// SPDX-License-Identifier: Apache-2.0
#include "oauth/sharedtokens.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtCore/QTimer>
#include <QtCore/QUuid>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

// Longer than TokenEndpoint::deadlineMs. Under one lease there may be two, each after a turn of up to 10 s: it is renewed
// on the way, and the lease of an engine that died still ends soon.
constexpr qint64 leaseMs = 15'000;
constexpr int renewEveryMs = 4'000;
// Longer than the lease: when its holder died, the others lose time but no attempt.
constexpr qint64 longestWaitMs = 20'000;
constexpr qint64 pollMs = 100;

QCoro::Task<> renewOnce(queue::Leases &leases, QString name, QByteArray owner)
{
    // Lost or not to be renewed: at worst two engines ask, and compare-and-set on the token decides.
    co_await leases.renew(name, owner, leaseMs);
}

QCoro::Task<> releaseOnce(queue::Leases &leases, QString name, QByteArray owner)
{
    co_await leases.release(name, owner);
}

class HeldLease {
public:
    HeldLease(queue::Leases &leases, QString name, QByteArray owner)
        : m_leases(leases), m_name(std::move(name)), m_owner(std::move(owner))
    {
        m_timer.setInterval(renewEveryMs);
        QObject::connect(&m_timer, &QTimer::timeout, &m_timer,
                         [this] { renewOnce(m_leases, m_name, m_owner); });
        m_timer.start();
    }
    ~HeldLease() { releaseOnce(m_leases, m_name, m_owner); }
    Q_DISABLE_COPY_MOVE(HeldLease)

private:
    queue::Leases &m_leases;
    QString m_name;
    QByteArray m_owner;
    QTimer m_timer;
};

QString leaseOf(const QString &name)
{
    return u"token:"_s + name;
}

QByteArray keyOf(const QString &name)
{
    return "tk:{token:" + name.toUtf8() + '}';
}

/// Bound to what is sealed: no other secret of ours opens as an access token, nor under another name.
QString boundTo(const QString &name)
{
    return u"access token:"_s + name;
}

} // namespace

QString SharedTokens::nameOf(const QString &key)
{
    const QByteArray hash = QCryptographicHash::hash(key.toUtf8(), QCryptographicHash::Sha256);
    return QString::fromLatin1(
        hash.left(18).toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
}

QCoro::Task<SharedTokens::Turn> SharedTokens::turn(QString name, QString rejected)
{
    const QString lease = leaseOf(name);
    const QByteArray owner = QUuid::createUuid().toRfc4122().toHex();
    for (qint64 waitedMs = 0;;) {
        const Result<queue::LeaseState> state = co_await m_leases.acquire(lease, owner, leaseMs);
        if (!state)
            co_return Turn{}; // Redis is away
        const Hold hold = state->held ? std::make_shared<HeldLease>(m_leases, lease, owner) : Hold();
        // Also with the lease: whoever held it before may have left the token a moment ago.
        std::optional<SharedToken> token = co_await find(name);
        if (token && token->token != rejected)
            co_return Turn{std::move(token), {}, false};
        if (hold)
            co_return Turn{{}, hold, false};
        if (waitedMs >= longestWaitMs)
            co_return Turn{{}, {}, true};
        const qint64 stepMs = std::clamp<qint64>(state->remainingMs, 10, pollMs);
        co_await m_sleep(stepMs);
        waitedMs += stepMs;
    }
}

void SharedTokens::leave(const QString &name, const SharedToken &token, qint64 lifeMs)
{
    const QJsonObject json{{u"token"_s, token.token},
                           {u"expires_at"_s, token.expiresAt},
                           {u"usable_until"_s, token.usableUntil}};
    const QByteArray plain = QJsonDocument(json).toJson(QJsonDocument::Compact);
    const Result<QByteArray> sealed = m_sealing->seal(plain, boundTo(name));
    if (!sealed || lifeMs <= 0)
        return;
    const QByteArray value = m_sealing->keyId().toLatin1() + ':' + sealed->toBase64();
    m_connection.send({"SET", keyOf(name), value, "PX", QByteArray::number(lifeMs)},
                      [](const Result<redis::Value> &) {}); // a loss costs another request, nothing else
}

QCoro::Task<std::optional<SharedToken>> SharedTokens::find(QString name)
{
    QList<QByteArray> get{"GET", keyOf(name)};
    const Result<redis::Value> value = co_await m_connection.command(std::move(get));
    if (!value || value->type != redis::Value::Type::String)
        co_return std::nullopt;
    const qsizetype colon = value->text.indexOf(':');
    const QString keyId = QString::fromLatin1(value->text.left(std::max<qsizetype>(colon, 0)));
    const Result<QByteArray> plain =
        m_sealing->unseal(QByteArray::fromBase64(value->text.mid(colon + 1)), keyId, boundTo(name));
    if (!plain)
        co_return std::nullopt; // of another key, before a rotation of keys: asked anew
    const QJsonObject json = QJsonDocument::fromJson(*plain).object();
    SharedToken token{json.value("token"_L1).toString(), json.value("expires_at"_L1).toInteger(),
                      json.value("usable_until"_L1).toInteger()};
    if (token.token.isEmpty())
        co_return std::nullopt;
    co_return token;
}

} // namespace tidekeeper::oauth
