// SPDX-License-Identifier: Apache-2.0
#include "simulate/simulation.h"

#include <algorithm>
#include <queue>

namespace tidekeeper::simulate {

namespace {

/// An attempt under way.
struct Flight {
    qint64 endsAt = 0;
    qint64 number = 0; ///< of two that end together, the one that began first ends first
    int account = 0;
    Answers answers;

    bool operator>(const Flight &other) const
    {
        return std::pair(endsAt, number) > std::pair(other.endsAt, other.number);
    }
};

class Run {
public:
    Run(const Scenario &scenario, PolicyKind kind)
        : m_scenario(scenario), m_google(scenario), m_policy(makePolicy(kind, scenario))
    {
        m_figures.policy = toString(kind);
        m_figures.callsByHour.resize(static_cast<qsizetype>(scenario.days) * 24);
    }

    Figures run(const Progress &progress)
    {
        qint64 dayEndsAt = m_scenario.startMs;
        for (m_nowMs = m_scenario.startMs; m_nowMs < m_scenario.endMs(); m_nowMs = nextEventAt()) {
            while (!m_flights.empty() && m_flights.top().endsAt <= m_nowMs)
                land();
            if (m_scenario.troubleUntil(Trouble::Worker, m_nowMs) == 0)
                work();
            if (progress && m_nowMs >= dayEndsAt) {
                dayEndsAt += core::dayMs;
                progress(static_cast<double>(m_nowMs - m_scenario.startMs)
                         / static_cast<double>(m_scenario.endMs() - m_scenario.startMs));
            }
        }
        return judged();
    }

private:
    void work()
    {
        if (m_policy->nextScanAt(m_nowMs) <= m_nowMs)
            m_policy->scan(m_nowMs);
        while (m_flights.size() < static_cast<size_t>(m_scenario.consumers)) {
            const std::optional<int> account = m_policy->next(m_nowMs);
            if (!account)
                return;
            start(*account);
        }
    }

    void start(int account)
    {
        Flight flight{0, ++m_number, account,
                      m_google.renew(account, m_policy->keepsToken(account, m_nowMs), m_nowMs)};
        flight.endsAt = m_nowMs + flight.answers.tookMs;
        const auto hour = static_cast<qsizetype>((m_nowMs - m_scenario.startMs) / core::hourMs);
        m_figures.callsByHour[hour] += flight.answers.calls();
        m_flights.push(std::move(flight));
    }

    void land()
    {
        const Flight flight = m_flights.top();
        m_flights.pop();
        m_policy->ended(flight.account, flight.answers, m_nowMs);
    }

    qint64 nextEventAt() const
    {
        const qint64 downUntil = m_scenario.troubleUntil(Trouble::Worker, m_nowMs);
        qint64 at = downUntil > 0 ? downUntil : std::max(m_nowMs + 1, m_policy->nextScanAt(m_nowMs));
        if (!m_flights.empty())
            at = std::min(at, m_flights.top().endsAt);
        return at;
    }

    Figures judged()
    {
        m_google.close(m_scenario.endMs());
        m_figures.lapsed = m_google.lapsed();
        m_figures.lapseMs = m_google.lapseMs();
        for (int account = 0; account < m_scenario.count(); ++account)
            m_figures.grantsLost +=
                m_google.grantLives(account, m_scenario.endMs()) && !m_policy->holdsGrant(account);
        m_figures.judge(m_scenario);
        return m_figures;
    }

    const Scenario &m_scenario;
    Google m_google;
    std::unique_ptr<Policy> m_policy;
    std::priority_queue<Flight, std::vector<Flight>, std::greater<>> m_flights;
    qint64 m_nowMs = 0;
    qint64 m_number = 0;
    Figures m_figures;
};

} // namespace

Figures simulate(const Scenario &scenario, PolicyKind kind, const Progress &progress)
{
    return Run(scenario, kind).run(progress);
}

} // namespace tidekeeper::simulate
