// SPDX-License-Identifier: Apache-2.0
#include "http/httpserver.h"

#include "http/daemon.h"
#include "http/listensocket.h"

#include <QCoro/QCoroSignal>
#include <QtCore/QFile>

#include <unistd.h>
#include <utility>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

Result<QByteArray> readPem(const QString &path, const QString &key)
{
    if (path.isEmpty())
        return fail(u"tls_files"_s, u"TLS needs both http.tls_cert and http.tls_key; set %1 too."_s.arg(key),
                    {{u"key"_s, key}});
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        return fail(u"tls_files"_s, u"%1: cannot read %2: %3."_s.arg(key, path, file.errorString()),
                    {{u"key"_s, key}, {u"file"_s, path}});
    }
    return file.readAll();
}

Result<TlsFiles> readTlsFiles(const ServerOptions &options)
{
    if (options.tlsCertificate.isEmpty() && options.tlsKey.isEmpty())
        return TlsFiles{};
    const Result<QByteArray> certificate = readPem(options.tlsCertificate, u"http.tls_cert"_s);
    if (!certificate)
        return fail(certificate.error());
    const Result<QByteArray> key = readPem(options.tlsKey, u"http.tls_key"_s);
    if (!key)
        return fail(key.error());
    return TlsFiles{*certificate, *key};
}

Error tlsRequired(const QString &address)
{
    return Error::failure(
        u"tls_required"_s,
        u"%1 can be reached from other machines and would show tokens in clear text. Set http.tls_cert and "
        "http.tls_key, listen on 127.0.0.1, or set http.allow_plain_remote = true behind a proxy that speaks "
        "TLS."_s.arg(address),
        {{u"address"_s, address}});
}

} // namespace

HttpServer::HttpServer(ServerOptions options, Router &router, Authenticator authenticator, QObject *parent)
    : QObject(parent), m_options(std::move(options)),
      m_daemon(std::make_unique<Daemon>(m_options, router, std::move(authenticator)))
{ }

HttpServer::~HttpServer()
{
    if (m_boundFd >= 0)
        ::close(m_boundFd);
}

Result<> HttpServer::bind()
{
    const Result<TlsFiles> tls = readTlsFiles(m_options);
    if (!tls)
        return fail(tls.error());
    const bool plain = tls->certificate.isEmpty();
    if (plain && !m_options.allowPlainRemote && !isLoopback(m_options.host))
        return fail(tlsRequired(hostAndPort(m_options.host, m_options.port)));
    const Result<ListenSocket> socket = openListenSocket(m_options.host, m_options.port);
    if (!socket)
        return fail(socket.error());
    m_boundFd = socket->fd;
    m_url = (plain ? u"http://"_s : u"https://"_s) + hostAndPort(socket->host, socket->port);
    return {};
}

Result<> HttpServer::listen()
{
    if (m_boundFd < 0) {
        if (const Result<> bound = bind(); !bound)
            return bound;
    }
    const Result<TlsFiles> tls = readTlsFiles(m_options);
    if (!tls)
        return fail(tls.error());
    return m_daemon->start(std::exchange(m_boundFd, -1), *tls);
}

QCoro::Task<> HttpServer::stop(int graceMs)
{
    m_daemon->quiesce();
    if (m_daemon->isBusy())
        co_await qCoro(m_daemon.get(), &Daemon::drained, std::chrono::milliseconds(graceMs));
    m_daemon->close();
}

QString HttpServer::url() const
{
    return m_url;
}

} // namespace tidekeeper::http
