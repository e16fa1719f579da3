// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/faults/faults.h"
#include "google/world/world.h"

namespace tidekeeper::googlesim {

/// POST /v1/projects/{id or number}/messages:send.
class FcmApi {
public:
    FcmApi(World &world, Faults &faults) : m_world(world), m_faults(faults) { }

    static bool serves(const QString &path);
    Answer handle(const Call &call);

private:
    Answer send(Project &project, const QJsonObject &request);
    std::optional<Answer> deviceProblem(const Project &project, const QString &token);

    World &m_world;
    Faults &m_faults;
};

/// What is wrong with the payload of a message, as FCM would say it; nothing when it may be sent.
std::optional<Answer> payloadProblem(const QJsonObject &message);

} // namespace tidekeeper::googlesim
