// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/multipart.h"

#include <QtCore/QList>

namespace tidekeeper::googlesim {

namespace {

QByteArray boundaryOf(const QByteArray &contentType)
{
    const qsizetype at = contentType.toLower().indexOf("boundary=");
    if (at < 0)
        return {};
    QByteArray boundary = contentType.mid(at + 9);
    if (boundary.startsWith('"'))
        return boundary.mid(1, boundary.indexOf('"', 1) - 1);
    return boundary.split(';').first().trimmed();
}

/// Cuts off the line break that belongs to the delimiter.
QByteArray withoutLastBreak(QByteArray text)
{
    if (text.endsWith('\n'))
        text.chop(1);
    if (text.endsWith('\r'))
        text.chop(1);
    return text;
}

} // namespace

Part splitPart(const QByteArray &text)
{
    Part part;
    qsizetype at = 0;
    while (at < text.size()) {
        qsizetype end = text.indexOf('\n', at);
        if (end < 0)
            end = text.size();
        const QByteArray line = text.mid(at, end - at).trimmed();
        at = end + 1;
        if (line.isEmpty())
            break;
        if (const qsizetype colon = line.indexOf(':'); colon > 0)
            part.headers.insert(line.left(colon).toLower(), line.mid(colon + 1).trimmed());
    }
    part.body = text.mid(at);
    return part;
}

std::vector<Part> splitMultipart(const QByteArray &contentType, const QByteArray &body)
{
    const QByteArray boundary = boundaryOf(contentType);
    if (boundary.isEmpty())
        return {};
    const QByteArray delimiter = "\n--" + boundary;
    const QByteArray text = '\n' + body; // so that the first delimiter is like the others
    std::vector<Part> parts;
    qsizetype start = text.indexOf(delimiter);
    while (start >= 0) {
        start += delimiter.size();
        if (text.mid(start, 2) == "--")
            break;
        const qsizetype line = text.indexOf('\n', start);
        const qsizetype end = text.indexOf(delimiter, start);
        if (line < 0 || end < 0)
            break;
        parts.push_back(splitPart(withoutLastBreak(text.mid(line + 1, end - line))));
        start = end;
    }
    return parts;
}

} // namespace tidekeeper::googlesim
