// SPDX-License-Identifier: Apache-2.0
#include "simulate/google.h"

#include <algorithm>

namespace tidekeeper::simulate {

namespace {

constexpr qint64 deadlineMs = 10'000; // when a caller gives up waiting

constexpr char tokenGranted[] = R"({"access_token":"ya29.simulated","expires_in":3599,)"
                                R"("scope":"https://www.googleapis.com/auth/gmail.readonly",)"
                                R"("token_type":"Bearer"})";
constexpr char wrongSecret[] =
    R"({"error":"invalid_client","error_description":"The provided client secret is invalid."})";
constexpr char grantGone[] =
    R"({"error":"invalid_grant","error_description":"Token has been expired or revoked."})";
constexpr char tokenTrouble[] = R"({"error":"internal_failure","error_description":"Backend Error"})";
constexpr char gmailTrouble[] =
    R"({"error":{"code":503,"message":"The service is currently unavailable.","errors":[{"message":)"
    R"("The service is currently unavailable.","domain":"global","reason":"backendError"}],)"
    R"("status":"UNAVAILABLE"}})";
constexpr char topicForbidden[] =
    R"({"error":{"code":403,"message":"Error sending test message to Cloud PubSub )"
    R"(projects/p/topics/t : User not authorized to perform this action.","errors":[{"message":)"
    R"("Error sending test message to Cloud PubSub projects/p/topics/t : User not authorized to )"
    R"(perform this action.","domain":"global","reason":"forbidden"}],"status":"PERMISSION_DENIED"}})";

} // namespace

Google::Google(const Scenario &scenario)
    : m_scenario(scenario), m_random(scenario.seed ^ 0x9002), m_expiresAt(firstExpiries(scenario)),
      m_revokedAt(m_expiresAt.size(), 0), m_lapsed(m_expiresAt.size(), false)
{
    // Drawn before the first call, so that every policy meets the same users.
    for (qint64 &revokedAt : m_revokedAt) {
        const double when = m_random.next();
        if (m_random.happens(scenario.revoked))
            revokedAt = scenario.startMs
                + static_cast<qint64>(when * static_cast<double>(scenario.endMs() - scenario.startMs));
    }
}

bool Google::grantLives(int account, qint64 nowMs) const
{
    const qint64 revokedAt = m_revokedAt.at(account);
    return revokedAt == 0 || nowMs < revokedAt;
}

Answers Google::renew(int account, bool tokenKept, qint64 nowMs)
{
    Answers answers;
    if (!tokenKept) {
        answers.token = tokenAnswer(account, nowMs);
        answers.tookMs += answers.token->status == 0 ? deadlineMs : m_scenario.callMs;
        if (answers.token->status != 200)
            return answers;
    }
    answers.watch = watchAnswer(account, nowMs);
    answers.tookMs += answers.watch->status == 0 ? deadlineMs : m_scenario.callMs;
    return answers;
}

HttpAnswer Google::tokenAnswer(int account, qint64 nowMs)
{
    if (m_scenario.troubleUntil(Trouble::Network, nowMs) > 0)
        return {};
    if (m_scenario.troubleUntil(Trouble::Google, nowMs) > 0)
        return {503, tokenTrouble};
    if (m_random.happens(m_scenario.errors))
        return {500, tokenTrouble};
    if (m_scenario.troubleUntil(Trouble::Secret, nowMs) > 0)
        return {401, wrongSecret};
    if (m_scenario.troubleUntil(Trouble::Grants, nowMs) > 0 || !grantLives(account, nowMs))
        return {400, grantGone};
    return {200, tokenGranted};
}

HttpAnswer Google::watchAnswer(int account, qint64 nowMs)
{
    if (m_scenario.troubleUntil(Trouble::Network, nowMs) > 0)
        return {};
    if (m_scenario.troubleUntil(Trouble::Google, nowMs) > 0 || m_random.happens(m_scenario.errors))
        return {503, gmailTrouble};
    if (m_scenario.troubleUntil(Trouble::Topic, nowMs) > 0)
        return {403, topicForbidden};
    countLapse(account, nowMs);
    m_expiresAt[account] = nowMs + m_scenario.lifetimeMs;
    if (m_random.happens(m_scenario.lostAnswers))
        return {};
    const QByteArray expiration = QByteArray::number(m_expiresAt.at(account));
    return {200, R"({"historyId":"1234567890","expiration":")" + expiration + R"("})"};
}

/// What lies between the end of the last watch and now, as far as there was a grant to renew it with. Who comes without
/// a watch lacks one from the start.
void Google::countLapse(int account, qint64 nowMs)
{
    const qint64 fromMs = std::max(m_expiresAt.at(account), m_scenario.startMs);
    const qint64 revokedAt = m_revokedAt.at(account);
    const qint64 toMs = revokedAt > 0 ? std::min(nowMs, revokedAt) : nowMs;
    if (toMs <= fromMs)
        return;
    m_lapsed[account] = true;
    m_lapseMs += toMs - fromMs;
}

void Google::close(qint64 nowMs)
{
    for (int account = 0; account < m_expiresAt.size(); ++account)
        countLapse(account, nowMs);
}

int Google::lapsed() const
{
    return static_cast<int>(std::count(m_lapsed.begin(), m_lapsed.end(), true));
}

} // namespace tidekeeper::simulate
