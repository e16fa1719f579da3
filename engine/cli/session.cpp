// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include "cli/apiclient.h"
#include "cli/humanize.h"
#include "cli/localengine.h"

#include <QtCore/QFile>
#include <QtCore/QJsonDocument>

#include <cstdio>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

ExitCode exitCodeOf(const QString &code)
{
    if (code == "unreachable"_L1)
        return ExitCode::Unreachable;
    return code == "usage"_L1 || code == "token_file"_L1 ? ExitCode::Usage : ExitCode::Refused;
}

} // namespace

Session::Session() = default;
Session::~Session() = default;

// Without --url the engine of this machine; its token also when --url names the same engine.
Result<ApiClient *> Session::client()
{
    if (m_client)
        return m_client.get();
    const Result<LocalEngine> local = findLocalEngine(stateDirs());
    if (url.empty() && !local)
        return fail(local.error());
    const QString where = url.empty() ? local->url : text(url);
    const QUrl base(where);
    if (base.host().isEmpty() || !base.scheme().startsWith(u"http"_s))
        return fail(u"usage"_s,
                    u"%1 is not an address; write for example http://127.0.0.1:8787."_s.arg(where));
    QString file = text(tokenFile);
    if (file.isEmpty() && local && local->url == where)
        file = local->tokenFile;
    QByteArray token;
    if (!file.isEmpty()) {
        const Result<QByteArray> read = readToken(file);
        if (!read)
            return fail(read.error());
        token = *read;
    }
    m_client = std::make_unique<ApiClient>(base, token, text(caFile));
    return m_client.get();
}

Result<QJsonObject> Session::get(const QString &path, const QUrlQuery &query)
{
    const Result<ApiClient *> api = client();
    return api ? (*api)->call("GET", path, query) : fail(api.error());
}

Result<QJsonObject> Session::send(const QByteArray &method, const QString &path, const QJsonObject &body,
                                  const QUrlQuery &query)
{
    const Result<ApiClient *> api = client();
    if (!api)
        return fail(api.error());
    const QByteArray bytes =
        body.isEmpty() ? QByteArray() : QJsonDocument(body).toJson(QJsonDocument::Compact);
    return (*api)->call(method, path, query, bytes);
}

Result<QJsonObject> Session::sendLines(const QString &path, const QByteArray &lines, const QUrlQuery &query)
{
    const Result<ApiClient *> api = client();
    return api ? (*api)->call("POST", path, query, lines, "application/x-ndjson") : fail(api.error());
}

void Session::print(const QString &text)
{
    const QByteArray utf8 = text.toUtf8();
    std::fwrite(utf8.constData(), 1, size_t(utf8.size()), stdout);
}

void Session::print(const QJsonObject &object)
{
    print(QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact)) + u'\n');
}

void Session::complain(const QString &text)
{
    const QByteArray utf8 = printable(text).toUtf8();
    std::fprintf(stderr, "tidekeeper: %s\n", utf8.constData());
}

void Session::onCalled(CLI::App *command, std::function<Result<ExitCode>()> verb)
{
    command->callback([this, verb = std::move(verb)] { finish(verb()); });
}

void Session::finish(const Result<ExitCode> &result)
{
    if (result) {
        m_exitCode = *result;
        return;
    }
    const Error &error = result.error();
    if (json)
        print(QJsonObject{{u"error"_s, QJsonObject{{u"code"_s, error.code}, {u"text"_s, error.text}}}});
    complain(error.text);
    m_exitCode = exitCodeOf(error.code);
}

QString segment(const std::string &text)
{
    return QString::fromLatin1(QUrl::toPercentEncoding(QString::fromStdString(text)));
}

} // namespace tidekeeper::cli
