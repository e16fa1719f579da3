// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/call.h"

/// FCM's error bodies: {"error": {"code", "message", "status", "details"}}.
namespace tidekeeper::googlesim::errors {

/// An empty errorCode leaves the FcmError detail out; retryAfterS ≥ 0 adds a Retry-After header.
Answer fcm(int code, const QString &status, const QString &message, const QString &errorCode,
           qint64 retryAfterS = -1);
/// A fault of the payload: 400 with google.rpc.BadRequest naming the field.
Answer fcmBadRequest(const QString &field, const QString &description);

Answer fcmUnregistered();
Answer fcmInvalidToken();
Answer fcmSenderIdMismatch();
Answer fcmQuotaExceeded(qint64 retryAfterS);

} // namespace tidekeeper::googlesim::errors
