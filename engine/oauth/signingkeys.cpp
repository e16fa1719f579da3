// SPDX-License-Identifier: Apache-2.0
#include "oauth/signingkeys.h"

#include <QCoro/QCoroFuture>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtCore/QPromise>
#include <QtCore/QRegularExpression>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

constexpr qint64 shortestLifetimeMs = 5 * 60'000;
constexpr qint64 longestLifetimeMs = 24 * 3'600'000;
constexpr qsizetype mostKeys = 50;

QByteArray numberOf(const QJsonObject &key, QLatin1StringView name)
{
    return QByteArray::fromBase64(key[name].toString().toLatin1(), QByteArray::Base64UrlEncoding);
}

tl::unexpected<Error> unavailable(const QString &what)
{
    return fail(
        u"keys_unavailable"_s,
        u"The keys that Pub/Sub's tokens are checked with cannot be fetched (push.certs_url): %1"_s.arg(
            what));
}

} // namespace

KeysById keysFrom(const QByteArray &jwks)
{
    KeysById keys;
    const QJsonArray list = QJsonDocument::fromJson(jwks).object()["keys"_L1].toArray();
    for (const QJsonValue &value : list) {
        const QJsonObject key = value.toObject();
        const QString id = key["kid"_L1].toString();
        if (id.isEmpty() || key["kty"_L1].toString() != "RSA"_L1
            || key["use"_L1].toString(u"sig"_s) != "sig"_L1
            || key["alg"_L1].toString(u"RS256"_s) != "RS256"_L1)
            continue;
        if (const auto usable = RsaPublicKey::fromNumbers(numberOf(key, "n"_L1), numberOf(key, "e"_L1)))
            keys.insert(id, *usable);
        if (keys.size() == mostKeys)
            break;
    }
    return keys;
}

qint64 lifetimeMs(const QByteArray &cacheControl)
{
    static const QRegularExpression form(u"(?:^|[\\s,])max-age=(\\d{1,9})(?!\\d)"_s,
                                         QRegularExpression::CaseInsensitiveOption);
    const qint64 seconds = form.match(QString::fromLatin1(cacheControl)).captured(1).toLongLong();
    return std::clamp(seconds * 1000, shortestLifetimeMs, longestLifetimeMs);
}

SigningKeys::SigningKeys(net::HttpClient &http, QUrl url, const Clock &clock)
    : m_http(http), m_url(std::move(url)), m_clock(clock)
{ }

bool SigningKeys::isFresh() const
{
    return !m_keys.isEmpty() && m_clock.monotonicMs() < m_freshUntilMs;
}

bool SigningKeys::isUsable() const
{
    return !m_keys.isEmpty() && m_clock.monotonicMs() - m_fetchedAtMs < longestUseMs;
}

QCoro::Task<Result<std::optional<RsaPublicKey>>> SigningKeys::find(QString id)
{
    using Found = std::optional<RsaPublicKey>;
    Result<> refreshed;
    // A key that is not among them may be a new one, used before the kept ones ran out.
    if (!isFresh() || !m_keys.contains(id))
        refreshed = co_await refresh();
    const auto found = isUsable() ? m_keys.constFind(id) : m_keys.constEnd();
    if (found != m_keys.constEnd())
        co_return Found(*found);
    if (!refreshed)
        co_return fail(refreshed.error());
    co_return Found();
}

/// One request whoever waits for it, and none so soon after the last: then that one's outcome stands.
QCoro::Task<Result<>> SigningKeys::refresh()
{
    if (!m_inFlight.isFinished()) {
        const QFuture<Result<>> others = m_inFlight;
        const Result<> theirs = co_await others;
        co_return theirs;
    }
    const qint64 nowMs = m_clock.monotonicMs();
    if (m_askedAtMs && nowMs - *m_askedAtMs < leastBetweenMs)
        co_return Result<>(m_lastAnswer);
    m_askedAtMs = nowMs;
    QPromise<Result<>> promise;
    m_inFlight = promise.future();
    promise.start();
    m_lastAnswer = co_await fetch();
    promise.addResult(m_lastAnswer);
    promise.finish();
    co_return Result<>(m_lastAnswer);
}

QCoro::Task<Result<>> SigningKeys::fetch()
{
    net::HttpRequest request{"GET", m_url};
    const Result<net::HttpResponse> response = co_await m_http.send(std::move(request));
    if (!response)
        co_return unavailable(response.error().text);
    if (response->status != 200)
        co_return unavailable(u"it answers with status %1."_s.arg(response->status));
    KeysById keys = keysFrom(response->body);
    if (keys.isEmpty())
        co_return unavailable(u"it answers with no RSA key set."_s);
    m_keys = std::move(keys);
    m_fetchedAtMs = m_clock.monotonicMs();
    m_freshUntilMs = m_fetchedAtMs + lifetimeMs(response->headers.value("cache-control"));
    co_return Result<>();
}

} // namespace tidekeeper::oauth
