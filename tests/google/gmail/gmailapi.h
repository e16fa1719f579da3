// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/faults/faults.h"
#include "google/gmail/method.h"

namespace tidekeeper::googlesim {

/// Gmail as its clients see it: who calls, whether the limits allow it, then the method itself.
class GmailApi {
public:
    GmailApi(World &world, Faults &faults);

    static bool serves(const QString &path);
    Answer handle(const Call &call);

    /// Every method that is served, for tests that compare with the cost table.
    const std::vector<GmailMethod> &methods() const { return m_methods; }

private:
    struct Route {
        const GmailMethod *method = nullptr;
        QString user; ///< "me" or an address
        QStringList parameters;
    };
    std::optional<Route> route(const Call &call) const;
    Answer authorized(const Call &call, const Route &route, const AccessToken &token,
                      const std::shared_ptr<User> &user);
    std::optional<Answer> refusal(User &user, const Subject &subject, qint64 cost);
    Answer admitted(const Call &call, const Route &route, const std::shared_ptr<User> &user,
                    const Subject &subject, bool executes);

    World &m_world;
    Faults &m_faults;
    std::vector<GmailMethod> m_methods;
};

} // namespace tidekeeper::googlesim
