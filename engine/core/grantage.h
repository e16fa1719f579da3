// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QList>
#include <QtCore/QString>

// Google ends the refresh tokens of a project whose consent screen is "in testing" 7 days after they were issued. Only
// their age tells them from grants that users revoked: the error is the same.
namespace tidekeeper::core {

/// A stored grant that Google refused for good. Instants in epoch ms.
struct GrantDeath {
    QString project;
    QString client;
    qint64 issuedAt = 0; ///< when it came here; 0 = unknown
    qint64 lastSuccessAt = 0; ///< of a renewal with it, so it lived then; 0 = never
    qint64 diedAt = 0; ///< when it was refused, so it had died by then
};

/// A client whose grants seem to end at 7 days.
struct ShortLivedClient {
    QString project;
    QString client;
    int deaths = 0; ///< at that age, within the last week
};

constexpr qint64 grantDeathsShownMs = qint64(7) * 24 * 60 * 60'000;

/// In the order of project and client. Deaths of the last week count; at least three of a client, and at least half
/// of all of its deaths, must have happened at 7 days.
QList<ShortLivedClient> shortLivedClients(const QList<GrantDeath> &deaths, qint64 nowMs);

/// What it means and what to do, for people.
QString consentScreenText(const ShortLivedClient &client);

} // namespace tidekeeper::core
