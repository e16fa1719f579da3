// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/message.h"

#include "google/gmail/multipart.h"

#include <QtCore/QJsonDocument>

#include <algorithm>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

constexpr auto base64url = QByteArray::Base64UrlEncoding;

struct Letter {
    QList<std::pair<QString, QString>> headers;
    QByteArray text;
};

Letter taken(const QByteArray &raw)
{
    Letter letter;
    QByteArray text = raw;
    text.replace("\r\n", "\n");
    const qsizetype end = text.indexOf("\n\n");
    letter.text = end < 0 ? QByteArray() : text.mid(end + 2);
    QByteArray head = text.left(end < 0 ? text.size() : end);
    head.replace("\n ", " ").replace("\n\t", " "); // folded lines
    const QList<QByteArray> lines = head.split('\n');
    for (const QByteArray &line : lines) {
        if (const qsizetype colon = line.indexOf(':'); colon > 0)
            letter.headers.append(
                {QString::fromUtf8(line.left(colon)), QString::fromUtf8(line.mid(colon + 1)).trimmed()});
    }
    return letter;
}

QJsonArray headersOf(const Letter &letter, const QStringList &wanted)
{
    QJsonArray list;
    for (const auto &[name, value] : letter.headers) {
        if (wanted.isEmpty() || wanted.contains(name, Qt::CaseInsensitive))
            list.append(QJsonObject{{u"name"_s, name}, {u"value"_s, value}});
    }
    return list;
}

QJsonObject textBody(const Letter &letter)
{
    return {{u"size"_s, letter.text.size()},
            {u"data"_s, QString::fromLatin1(letter.text.toBase64(base64url))}};
}

QJsonObject fullPayload(const Message &message, const Letter &letter)
{
    QJsonObject payload{{u"partId"_s, u""_s}, {u"filename"_s, u""_s}, {u"headers"_s, headersOf(letter, {})}};
    if (message.attachment.isEmpty()) {
        payload.insert(u"mimeType"_s, u"text/plain"_s);
        payload.insert(u"body"_s, textBody(letter));
        return payload;
    }
    payload.insert(u"mimeType"_s, u"multipart/mixed"_s);
    payload.insert(u"body"_s, QJsonObject{{u"size"_s, 0}});
    payload.insert(u"parts"_s,
                   QJsonArray{QJsonObject{{u"partId"_s, u"0"_s},
                                          {u"mimeType"_s, u"text/plain"_s},
                                          {u"filename"_s, u""_s},
                                          {u"body"_s, textBody(letter)}},
                              QJsonObject{{u"partId"_s, u"1"_s},
                                          {u"mimeType"_s, u"application/octet-stream"_s},
                                          {u"filename"_s, u"attachment.bin"_s},
                                          {u"body"_s,
                                           QJsonObject{{u"size"_s, message.attachment.size()},
                                                       {u"attachmentId"_s, u"att-"_s + message.id}}}}});
    return payload;
}

} // namespace

QJsonObject messageReference(const Message &message)
{
    return {{u"id"_s, message.id}, {u"threadId"_s, message.threadId}};
}

QJsonObject messageResource(const Message &message, const GmailCall &call)
{
    const QString format = call.query(u"format"_s).toLower();
    const Letter letter = taken(message.raw);
    QJsonObject resource = messageReference(message);
    resource.insert(u"labelIds"_s, QJsonArray::fromStringList(message.labels));
    resource.insert(u"snippet"_s, QString::fromUtf8(letter.text.simplified().left(200)));
    resource.insert(u"historyId"_s, QString::number(message.historyId));
    resource.insert(u"internalDate"_s, QString::number(message.internalDateMs));
    resource.insert(u"sizeEstimate"_s, message.raw.size() + message.attachment.size());
    if (format == u"raw"_s)
        resource.insert(u"raw"_s, QString::fromLatin1(message.raw.toBase64(base64url)));
    else if (format == u"metadata"_s)
        resource.insert(u"payload"_s,
                        QJsonObject{{u"mimeType"_s, u"text/plain"_s},
                                    {u"headers"_s, headersOf(letter, call.queries(u"metadataHeaders"_s))}});
    else if (format != u"minimal"_s)
        resource.insert(u"payload"_s, fullPayload(message, letter));
    return resource;
}

bool passesFilter(const Message &message, const GmailCall &call)
{
    const bool hidden = message.labels.contains(u"SPAM"_s) || message.labels.contains(u"TRASH"_s);
    const QStringList wanted = call.queries(u"labelIds"_s);
    if (hidden && call.query(u"includeSpamTrash"_s) != u"true"_s && !wanted.contains(u"TRASH"_s)
        && !wanted.contains(u"SPAM"_s))
        return false;
    const bool labelled = std::all_of(wanted.begin(), wanted.end(),
                                      [&](const QString &label) { return message.labels.contains(label); });
    if (!labelled)
        return false;
    const QStringList words = call.query(u"q"_s).toLower().split(u' ', Qt::SkipEmptyParts);
    if (words.isEmpty())
        return true;
    const QString text = QString::fromUtf8(message.raw).toLower();
    return std::all_of(words.begin(), words.end(),
                       [&](const QString &word) { return word.contains(u':') || text.contains(word); });
}

Incoming incomingMessage(const GmailCall &call)
{
    const QString upload = call.query(u"uploadType"_s);
    if (upload == u"media"_s)
        return {call.call.body, {}, call.call.body.isEmpty() ? u"The upload is empty."_s : QString()};
    if (upload == u"multipart"_s) {
        const auto parts = splitMultipart(call.call.headers.value("content-type"), call.call.body);
        if (parts.size() != 2)
            return {{}, {}, u"A multipart upload has two parts: JSON, then message/rfc822."_s};
        return {parts[1].body, QJsonDocument::fromJson(parts[0].body).object(), {}};
    }
    if (!upload.isEmpty())
        return {{}, {}, u"Only media and multipart uploads are served here."_s};
    const QByteArray encoded = call.body.value(u"raw"_s).toString().toLatin1();
    const auto decoded =
        QByteArray::fromBase64Encoding(encoded, base64url | QByteArray::AbortOnBase64DecodingErrors);
    if (encoded.isEmpty() || !decoded)
        return {
            {}, {}, u"'raw' RFC822 payload message string or uploading message via /upload/* URL required"_s};
    return {decoded.decoded, call.body, {}};
}

Page pageOf(const GmailCall &call, qsizetype count)
{
    const QString asked = call.query(u"maxResults"_s);
    const qsizetype size = asked.isEmpty() ? 100 : std::clamp<qsizetype>(asked.toLongLong(), 1, 500);
    Page page;
    page.from = std::clamp<qsizetype>(call.query(u"pageToken"_s).toLongLong(), 0, count);
    page.to = std::min(count, page.from + size);
    if (page.to < count)
        page.nextToken = QString::number(page.to);
    return page;
}

} // namespace tidekeeper::googlesim
