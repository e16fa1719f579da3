// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/control/controlapi.h"
#include "google/fcm/fcmapi.h"
#include "google/gmail/gmailapi.h"
#include "google/oauth/tokenendpoint.h"
#include "google/push/pushes.h"

namespace tidekeeper::googlesim {

/// Google's token endpoint, Gmail, FCM and the keys of Pub/Sub's pushes on one address, and /sim/… to set the scene and read the truth.
class Simulator {
public:
    explicit Simulator(SimClock::Mode mode = SimClock::Mode::Running, quint64 seed = 1);

    Answer handle(const Call &call);

    SimClock clock;
    World world{clock};
    Faults faults;
    TokenEndpoint tokens{world, faults};
    GmailApi gmail{world, faults};
    FcmApi fcm{world, faults};
    ControlApi control{world, faults};
    Pushes pushes{world, faults};

private:
    Answer google(const Call &call);
    Answer counted(Answer answer);
};

} // namespace tidekeeper::googlesim
