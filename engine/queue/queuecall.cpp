// SPDX-License-Identifier: Apache-2.0
#include "queue/queuecall.h"

#include <QtCore/QJsonObject>
#include <QtCore/QRandomGenerator>

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::queue {

namespace {

/// Queue work is not on a caller's hot path: a Redis that is slow for a moment (a rewrite of its file) is waited for.
constexpr int callTimeoutMs = 2'000;

Error errorOf(const QByteArray &text)
{
    if (text.startsWith("STALETERM ")) {
        const qint64 term = text.split(' ').value(1).toLongLong();
        return Error{u"stale_term"_s,
                     u"Another engine has taken the lead since; this call came too late."_s,
                     {{u"term"_s, term}}};
    }
    if (isRefusedUnseen(text))
        return Error{
            u"redis_unavailable"_s, u"Redis does not take writes now: %1"_s.arg(QString::fromUtf8(text)), {}};
    return Error{
        u"functions_refused"_s, u"Redis refused a queue function: %1"_s.arg(QString::fromUtf8(text)), {}};
}

} // namespace

bool isRefusedUnseen(const QByteArray &errorReply)
{
    static const QList<QByteArray> prefixes{"OOM ",     "LOADING ",    "READONLY ",    "MASTERDOWN ",
                                            "MISCONF ", "NOREPLICAS ", "CLUSTERDOWN ", "BUSY "};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const QByteArray &prefix) { return errorReply.startsWith(prefix); });
}

QByteArray queuePrefix(const QString &name)
{
    return "tk:{q:" + name.toUtf8() + '}';
}

QByteArray leaseKey(const QString &name)
{
    return "tk:{lease:" + name.toUtf8() + '}';
}

QByteArray randomToken()
{
    std::array<quint32, 3> words;
    QRandomGenerator::global()->fillRange(words.data(), words.size());
    return QByteArray(reinterpret_cast<const char *>(words.data()), sizeof words)
        .toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals);
}

QCoro::Task<Result<redis::Value>> callFunction(redis::FunctionLibrary &library, QByteArray function,
                                               QByteArray key, QList<QByteArray> arguments)
{
    QList<QByteArray> keys{std::move(key)};
    Result<redis::Value> reply =
        co_await library.call(std::move(function), std::move(keys), std::move(arguments), callTimeoutMs);
    if (reply && reply->isError())
        co_return fail(errorOf(reply->text));
    co_return reply;
}

QJsonObject fieldsOf(const redis::Value &flat)
{
    QJsonObject fields;
    for (qsizetype i = 0; i + 1 < flat.items.size(); i += 2)
        fields.insert(QString::fromUtf8(flat.items[i].text), QString::fromUtf8(flat.items[i + 1].text));
    return fields;
}

} // namespace tidekeeper::queue
