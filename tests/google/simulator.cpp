// SPDX-License-Identifier: Apache-2.0
#include "google/simulator.h"

#include "google/gmail/batch.h"
#include "google/gmail/errors.h"

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

Simulator::Simulator(SimClock::Mode mode, quint64 seed) : clock(mode), faults(world, seed) { }

Answer Simulator::handle(const Call &call)
{
    if (ControlApi::serves(call.path))
        return control.handle(call);
    if (call.method == "POST" && (call.path == u"/batch"_s || call.path == u"/batch/gmail/v1"_s))
        return batch(call, [this](const Call &inner) {
            return counted(GmailApi::serves(inner.path) ? gmail.handle(inner) : errors::notFound());
        });
    return counted(google(call));
}

Answer Simulator::google(const Call &call)
{
    if (call.method == "POST" && call.path == u"/token"_s)
        return tokens.token(call);
    if (call.method == "POST" && call.path == u"/revoke"_s)
        return tokens.revoke(call);
    if (call.method == "GET" && call.path == u"/oauth2/v3/certs"_s)
        return pushes.keys();
    if (GmailApi::serves(call.path))
        return gmail.handle(call);
    if (FcmApi::serves(call.path))
        return fcm.handle(call);
    return errors::notFound();
}

Answer Simulator::counted(Answer answer)
{
    if (answer.ending == Answer::Ending::Whole)
        ++world.totals.answersByStatus[answer.status];
    return answer;
}

} // namespace tidekeeper::googlesim
