// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/batch.h"

#include "google/gmail/errors.h"
#include "google/gmail/multipart.h"

#include <algorithm>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

/// "GET /gmail/v1/users/me/profile?fields=x", with or without "HTTP/1.1" behind it, then headers and a body. The
/// outer headers hold unless the inner call has its own.
Call innerCall(const Part &part, const Call &outer)
{
    const QByteArray text = part.body.trimmed();
    const qsizetype line = text.indexOf('\n');
    const QList<QByteArray> words = text.split('\n').first().simplified().split(' ');
    const QByteArray target = words.value(1);
    const Part request = splitPart(line < 0 ? QByteArray() : text.mid(line + 1));
    Call call;
    call.method = words.value(0);
    call.path = QString::fromLatin1(target.split('?').first());
    if (target.contains('?'))
        call.query = QUrlQuery(QString::fromLatin1(target.mid(target.indexOf('?') + 1)));
    call.headers.insert("authorization", outer.headers.value("authorization"));
    for (auto header = request.headers.cbegin(); header != request.headers.cend(); ++header)
        call.headers.insert(header.key(), header.value());
    call.body = request.body;
    return call;
}

QByteArray reasonPhrase(int status)
{
    static const QHash<int, QByteArray> phrases{
        {200, "OK"},           {204, "No Content"},          {400, "Bad Request"},
        {401, "Unauthorized"}, {403, "Forbidden"},           {404, "Not Found"},
        {409, "Conflict"},     {429, "Too Many Requests"},   {500, "Internal Server Error"},
        {502, "Bad Gateway"},  {503, "Service Unavailable"}, {504, "Gateway Timeout"}};
    return phrases.value(status, "Status");
}

QByteArray partOf(const Answer &answer, const QByteArray &contentId)
{
    QByteArray text = "Content-Type: application/http\r\n";
    if (!contentId.isEmpty()) // "<item1>" comes back as "<response-item1>"
        text += "Content-ID: "
            + (contentId.startsWith('<') ? "<response-" + contentId.mid(1) : "response-" + contentId)
            + "\r\n";
    text += "\r\nHTTP/1.1 " + QByteArray::number(answer.status) + ' ' + reasonPhrase(answer.status) + "\r\n";
    if (!answer.contentType.isEmpty())
        text += "Content-Type: " + answer.contentType + "\r\n";
    return text + "Content-Length: " + QByteArray::number(answer.body.size()) + "\r\n\r\n" + answer.body
        + "\r\n";
}

} // namespace

Answer batch(const Call &call, const std::function<Answer(const Call &)> &serve)
{
    const auto parts = splitMultipart(call.headers.value("content-type"), call.body);
    if (parts.empty())
        return errors::invalidArgument(
            u"Failed to parse batch request: no multipart/mixed body with parts."_s);
    if (parts.size() > 100)
        return errors::invalidArgument(
            u"The batch request has %1 calls; at most 100 are allowed."_s.arg(parts.size()));
    const QByteArray boundary = "batch_answer";
    Answer whole;
    whole.contentType = "multipart/mixed; boundary=" + boundary;
    for (const Part &part : parts) {
        Answer answer = serve(innerCall(part, call));
        whole.body += "--" + boundary + "\r\n" + partOf(answer, part.headers.value("content-id"));
        whole.delayMs = std::max(whole.delayMs, answer.delayMs);
        whole.ending = std::max(whole.ending, answer.ending);
        std::move(answer.inFlight.begin(), answer.inFlight.end(), std::back_inserter(whole.inFlight));
    }
    whole.body += "--" + boundary + "--\r\n";
    return whole;
}

} // namespace tidekeeper::googlesim
