// SPDX-License-Identifier: Apache-2.0
#include "simulate/referencepolicies.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::simulate {

TimerPolicy::TimerPolicy(const Scenario &scenario, Settings settings)
    : m_settings(settings), m_lastScanAt(scenario.startMs)
{
    const QList<qint64> expiries = firstExpiries(scenario);
    m_rows.reserve(expiries.size());
    for (const qint64 expiresAt : expiries)
        m_rows.append({expiresAt, true});
}

/// A run that falls into an outage of the worker is missed, as cron's are.
qint64 TimerPolicy::nextScanAt(qint64 nowMs) const
{
    const qint64 sinceMs = std::max(m_lastScanAt, nowMs - 1);
    return (sinceMs / m_settings.everyMs + 1) * m_settings.everyMs;
}

void TimerPolicy::scan(qint64 nowMs)
{
    m_lastScanAt = nowMs;
    std::vector<int> due;
    for (int account = 0; account < m_rows.size(); ++account) {
        const Row &row = m_rows.at(account);
        if (row.hasGrant && row.expiresAt < nowMs + m_settings.windowMs)
            due.push_back(account);
    }
    std::stable_sort(due.begin(), due.end(),
                     [this](int a, int b) { return m_rows.at(a).expiresAt < m_rows.at(b).expiresAt; });
    if (m_settings.atMost > 0 && due.size() > static_cast<size_t>(m_settings.atMost))
        due.resize(static_cast<size_t>(m_settings.atMost));
    m_list.assign(due.begin(), due.end());
}

std::optional<int> TimerPolicy::next(qint64)
{
    if (m_list.empty())
        return std::nullopt;
    const int account = m_list.front();
    m_list.pop_front();
    return account;
}

void TimerPolicy::ended(int account, const Answers &answers, qint64)
{
    Row &row = m_rows[account];
    if (answers.token && answers.token->status != 200 && m_settings.wipesGrants)
        row.hasGrant = false;
    if (!answers.watch || answers.watch->status != 200)
        return;
    const QJsonObject body = QJsonDocument::fromJson(answers.watch->body).object();
    row.expiresAt = body.value("expiration"_L1).toString().toLongLong();
}

} // namespace tidekeeper::simulate
