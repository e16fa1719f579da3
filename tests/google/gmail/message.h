// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/gmail/method.h"

/// How messages are shown, found and taken in.
namespace tidekeeper::googlesim {

/// A message resource in the format asked for: minimal, full (default), raw or metadata.
QJsonObject messageResource(const Message &message, const GmailCall &call);
QJsonObject messageReference(const Message &message); ///< {"id", "threadId"}

/// Whether labelIds, includeSpamTrash and q let the message through. Of q, plain words are understood: all of them
/// must stand somewhere in the message, those with a colon are ignored.
bool passesFilter(const Message &message, const GmailCall &call);

/// The RFC 822 text that came with a call, as {"raw"} in JSON or as an upload; and its JSON part.
struct Incoming {
    QByteArray raw;
    QJsonObject metadata;
    QString problem; ///< a sentence when there is no message in the call
};
Incoming incomingMessage(const GmailCall &call);

/// One page of a list: maxResults (default 100, most 500) from pageToken on.
struct Page {
    qsizetype from = 0;
    qsizetype to = 0;
    QString nextToken; ///< empty at the end
};
Page pageOf(const GmailCall &call, qsizetype count);

} // namespace tidekeeper::googlesim
