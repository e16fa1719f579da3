// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QString>

#include <optional>

namespace tidekeeper::http {

/// What Gmail has to say: something happened in a mailbox.
struct GmailPush {
    QString email; ///< normalized
    QString historyId; ///< digits of an unsigned 64 bit number
};

/// Out of the body of a Pub/Sub push. Google's guide and the wire differ, so both are taken: data in either base64
/// alphabet, padded or not; historyId as a number or as a text. Nothing when it is no push of Gmail.
std::optional<GmailPush> gmailPushFrom(const QByteArray &body);

} // namespace tidekeeper::http
