// SPDX-License-Identifier: Apache-2.0
#include "core/attemptwindow.h"

#include "core/planner.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qint64 waveMs = 10 * minuteMs;
constexpr qint64 lastAttemptsMs = dayMs;
constexpr int lastAttempts = 50;
constexpr int waveAccounts = 10;
constexpr int waveShare = 5; // one in five

constexpr qint64 transientMs = 2 * minuteMs;
constexpr int transientAttempts = 20;
constexpr int transientAccounts = 10;

constexpr qint64 oneRunMs = 1'000;

bool isWave(int accounts, int failures, int attempts)
{
    return accounts >= waveAccounts && failures * waveShare >= attempts;
}

} // namespace

bool stopsAccount(const Outcome &outcome)
{
    return outcome.kind == OutcomeKind::Revoked
        || (outcome.kind == OutcomeKind::Account && outcome.code != "no_grant"_L1);
}

bool saysSomething(const Outcome &outcome)
{
    return outcome.kind != OutcomeKind::Local && outcome.kind != OutcomeKind::Rate
        && !(outcome.kind == OutcomeKind::Account && !stopsAccount(outcome));
}

void AttemptWindow::Tally::add(quint64 account, int count)
{
    attempts += count;
    if (account != 0)
        accounts[account] += count;
}

void AttemptWindow::Tally::remove(quint64 account, int count)
{
    attempts -= count;
    const auto found = accounts.find(account);
    if (found != accounts.end() && (*found -= count) <= 0)
        accounts.erase(found);
}

void AttemptWindow::add(const EndedAttempt &attempt)
{
    m_clients[{attempt.project, attempt.client}].add(attempt);
    m_projects[attempt.project].add(attempt);
}

void AttemptWindow::Client::add(const EndedAttempt &attempt)
{
    const qint64 atMs = runs.empty() ? attempt.atMs : std::max(attempt.atMs, runs.back().atMs);
    attempts += attempt.count;
    recent += attempt.count;
    if (attempt.kind != OutcomeKind::Revoked && attempt.kind != OutcomeKind::Account) {
        const bool joins = runs.size() > old && runs.back().code < 0 && atMs - runs.back().atMs < oneRunMs;
        if (joins)
            runs.back().count += attempt.count;
        else
            runs.push_back({atMs, 0, attempt.count, -1});
    } else {
        qsizetype code = codes.indexOf(attempt.code);
        if (code < 0) {
            code = codes.size();
            codes.append(attempt.code);
        }
        runs.push_back({atMs, attempt.account, attempt.count, static_cast<int>(code)});
        recentByCode[static_cast<int>(code)].add(attempt.account, attempt.count);
    }
    forgetBefore(atMs);
}

void AttemptWindow::Client::forgetBefore(qint64 nowMs)
{
    for (; old < runs.size() && runs[old].atMs <= nowMs - waveMs; ++old) {
        const Run &run = runs[old];
        recent -= run.count;
        if (run.code >= 0)
            recentByCode[run.code].remove(run.account, run.count);
    }
    const auto isUseless = [&] {
        const Run &first = runs.front();
        return attempts - first.count >= lastAttempts || first.atMs <= nowMs - lastAttemptsMs;
    };
    while (old > 0 && isUseless()) {
        attempts -= runs.front().count;
        runs.pop_front();
        --old;
    }
}

std::optional<SuspectedWave> AttemptWindow::Client::amongRecent(int code) const
{
    const Tally tally = recentByCode.value(code);
    const int accounts = static_cast<int>(tally.accounts.size());
    if (!isWave(accounts, tally.attempts, recent))
        return std::nullopt;
    const auto first = std::find_if(runs.begin() + static_cast<std::ptrdiff_t>(old), runs.end(),
                                    [code](const Run &run) { return run.code == code; });
    return SuspectedWave{first->atMs, accounts, recent};
}

std::optional<SuspectedWave> AttemptWindow::Client::amongLast(int code) const
{
    Tally tally;
    SuspectedWave wave;
    for (auto run = runs.rbegin(); run != runs.rend() && wave.attempts < lastAttempts; ++run) {
        const int count = std::min(run->count, lastAttempts - wave.attempts);
        wave.attempts += count;
        if (run->code != code)
            continue;
        tally.add(run->account, count);
        wave.sinceMs = run->atMs;
    }
    wave.accounts = static_cast<int>(tally.accounts.size());
    return isWave(wave.accounts, tally.attempts, wave.attempts) ? std::optional(wave) : std::nullopt;
}

std::optional<SuspectedWave> AttemptWindow::wave(const QString &project, const QString &client,
                                                 const QString &code, qint64 nowMs)
{
    const auto found = m_clients.find({project, client});
    if (found == m_clients.end())
        return std::nullopt;
    found->forgetBefore(nowMs);
    const int index = static_cast<int>(found->codes.indexOf(code));
    if (index < 0)
        return std::nullopt;
    return found->recent >= lastAttempts ? found->amongRecent(index) : found->amongLast(index);
}

void AttemptWindow::Project::add(const EndedAttempt &attempt)
{
    const bool transient =
        attempt.kind == OutcomeKind::Transient || attempt.kind == OutcomeKind::Unauthorized;
    const qint64 atMs = runs.empty() ? attempt.atMs : std::max(attempt.atMs, runs.back().atMs);
    runs.push_back({atMs, attempt.account, attempt.count, transient});
    tally.add(attempt.account, attempt.count);
    transients += transient ? attempt.count : 0;
    unknownAccounts += attempt.account == 0 ? attempt.count : 0;
    forgetBefore(atMs);
}

void AttemptWindow::Project::forgetBefore(qint64 nowMs)
{
    for (; !runs.empty() && runs.front().atMs <= nowMs - transientMs; runs.pop_front()) {
        const ProjectRun &run = runs.front();
        tally.remove(run.account, run.count);
        transients -= run.transient ? run.count : 0;
        unknownAccounts -= run.account == 0 ? run.count : 0;
    }
}

bool AttemptWindow::mostlyTransient(const QString &project, qint64 nowMs)
{
    const auto found = m_projects.find(project);
    if (found == m_projects.end())
        return false;
    found->forgetBefore(nowMs);
    return found->tally.attempts >= transientAttempts && 2 * found->transients >= found->tally.attempts
        && found->tally.accounts.size() + found->unknownAccounts >= transientAccounts;
}

void AttemptWindow::forgetClient(const QString &project, const QString &client)
{
    m_clients.remove({project, client});
}

void AttemptWindow::forgetTransients(const QString &project)
{
    m_projects.remove(project);
}

} // namespace tidekeeper::core
