// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/call.h"
#include "google/quota/preset.h"

#include <QtCore/QJsonArray>

/// Gmail's error bodies, as documented or as captured on the wire where the two differ.
namespace tidekeeper::googlesim::errors {

struct GmailError {
    int code;
    QString message;
    QString reason;
    QString status; ///< "PERMISSION_DENIED"
    QString domain = QStringLiteral("global");
    QJsonArray details = {};
    QString location = {}; ///< with locationType "header"
};
Answer gmail(const GmailError &error);

// Rate answers.
enum class Scope : quint8 { User, Project };
/// The units of a minute are used up: 403 rateLimitExceeded, told apart by quota_limit; some clients saw it as 429.
Answer unitsExhausted(Scope scope, Preset preset, qint64 limit, const QString &projectNumber,
                      int httpStatus = 403);
Answer tooManyConcurrent();
/// until as in "2026-06-12T19:16:46.648Z"; family as in "Mail sending" or empty.
Answer retryAfter(const QString &until, const QString &family);
Answer exhausted();
Answer dailyLimit();

// Who may call.
Answer invalidCredentials();
Answer insufficientScope(const QString &method);
Answer delegationDenied(const QString &email);
Answer apiDisabled(const QString &projectNumber);
Answer domainPolicy();

// Everything else.
Answer backendError(int httpStatus);
Answer notFound();
Answer invalidArgument(const QString &message);
Answer failedPrecondition(const QString &message);

// users.watch
Answer otherWatchActive();
Answer topicOfOtherProject(const QString &projectId);
Answer topicForbidden(const QString &topic);
Answer topicMissing(const QString &topic);

} // namespace tidekeeper::googlesim::errors
