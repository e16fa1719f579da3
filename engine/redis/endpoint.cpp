// SPDX-License-Identifier: Apache-2.0
#include "redis/endpoint.h"

#include <QtCore/QUrl>
#include <QtCore/QUrlQuery>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

tl::unexpected<Error> invalid(const QString &what)
{
    return fail(
        u"invalid_redis_url"_s,
        what + u" Write redis://host:6379/0, rediss://host:6379/0 (TLS) or unix:/path/to/redis.sock."_s,
        {{u"field"_s, u"redis.url"_s}});
}

Result<int> databaseNumber(const QString &text)
{
    if (text.isEmpty())
        return 0;
    bool isNumber = false;
    const int database = text.toInt(&isNumber);
    if (!isNumber || database < 0)
        return invalid(u"The database in the Redis URL must be a whole number from 0."_s);
    return database;
}

} // namespace

Result<Endpoint> Endpoint::fromUrl(const QString &text)
{
    const QUrl url(text, QUrl::StrictMode);
    if (!url.isValid())
        return invalid(u"The Redis URL is not a valid URL."_s);

    Endpoint endpoint;
    QString databaseText;
    if (url.scheme() == u"unix"_s) {
        endpoint.transport = Transport::Unix;
        endpoint.path = url.path(QUrl::FullyDecoded);
        if (!endpoint.path.startsWith(u'/') || !url.host().isEmpty())
            return invalid(u"The path of the Redis socket must be absolute."_s);
        databaseText = QUrlQuery(url).queryItemValue(u"db"_s);
    } else if (url.scheme() == u"redis"_s || url.scheme() == u"rediss"_s) {
        endpoint.transport = url.scheme() == u"redis"_s ? Transport::Tcp : Transport::Tls;
        endpoint.host = url.host();
        if (endpoint.host.isEmpty())
            return invalid(u"The Redis URL names no host."_s);
        endpoint.port = static_cast<quint16>(url.port(6379));
        databaseText = url.path().mid(1);
    } else {
        return invalid(u"The Redis URL has a scheme that is not known."_s);
    }
    endpoint.username = url.userName(QUrl::FullyDecoded);
    endpoint.password = url.password(QUrl::FullyDecoded).toUtf8();

    const Result<int> database = databaseNumber(databaseText);
    if (!database)
        return fail(database.error());
    endpoint.database = *database;
    return endpoint;
}

QString Endpoint::display() const
{
    if (transport == Transport::Unix)
        return database == 0 ? u"unix:"_s + path : u"unix:%1?db=%2"_s.arg(path).arg(database);
    const QString scheme = transport == Transport::Tls ? u"rediss"_s : u"redis"_s;
    const QString shownHost = host.contains(u':') ? u'[' + host + u']' : host;
    return u"%1://%2:%3/%4"_s.arg(scheme, shownHost).arg(port).arg(database);
}

} // namespace tidekeeper::redis
