// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/faults/faults.h"
#include "google/world/world.h"

namespace tidekeeper::googlesim {

/// /sim/…: the operator's side of the simulator. A bad request changes nothing and gets 400 with a sentence:
/// {"error": "The field count must be a whole number between 1 and 100000."}.
class ControlApi {
public:
    ControlApi(World &world, Faults &faults) : m_world(world), m_faults(faults) { }

    static bool serves(const QString &path) { return path.startsWith(QStringLiteral("/sim/")); }
    Answer handle(const Call &call);

private:
    Answer state(const Call &call);
    Answer accounts(const QJsonObject &asked, const Call &call);
    Answer serviceAccounts(const QJsonObject &asked);
    Answer devices(const QJsonObject &asked);
    Answer mail(const QJsonObject &asked);
    Answer clock(const QJsonObject &asked);
    Answer settings(const QJsonObject &asked);
    Answer addFaults(const QJsonObject &asked);
    Answer removeFaults(const Call &call);

    World &m_world;
    Faults &m_faults;
};

Answer controlProblem(const QString &sentence, int status = 400);

/// The truth as GET /sim/state tells it. emails empty = all accounts.
QJsonObject stateOf(World &world, const QStringList &emails, bool withAccounts);

} // namespace tidekeeper::googlesim
