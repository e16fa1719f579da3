// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/outcome.h"

#include <QtCore/QHash>
#include <QtCore/QStringList>

#include <deque>
#include <optional>

namespace tidekeeper::core {

/// One attempt that asked the other side and was answered, or `count` that went well.
struct EndedAttempt {
    qint64 atMs = 0; ///< epoch
    QString project;
    QString client;
    quint64 account = 0; ///< hash of the id; 0 = not known, counts as an account of its own
    OutcomeKind kind = OutcomeKind::Renewed;
    QString code; ///< of a failure
    int count = 1;
};

/// A failure that stops an account for good, so that many of the same kind at once are suspicious. An account without
/// any grant was never asked about.
bool stopsAccount(const Outcome &outcome);

/// An outcome that says something about the other side: not our own fault, not a wait for quota.
bool saysSomething(const Outcome &outcome);

/// Many accounts of one client that met the same failure at once.
struct SuspectedWave {
    qint64 sinceMs = 0; ///< epoch; the first of them
    int accounts = 0;
    int attempts = 0; ///< of the client, good and bad, among which they were
};

/// What attempts came to lately, and what that means for all: pure decisions, instants as arguments, memory bounded by
/// the attempts of ten minutes. An attempt that arrives late counts as one of now.
class AttemptWindow {
public:
    void add(const EndedAttempt &attempt);

    /// Failures of this code that stop accounts hit ≥ 10 accounts and ≥ 20 % of the client's attempts in the last 10 min
    /// or, when those were fewer than 50, of its last 50 within 24 h.
    std::optional<SuspectedWave> wave(const QString &project, const QString &client, const QString &code,
                                      qint64 nowMs);
    /// At least 20 attempts of at least 10 accounts of the project ended within 2 min, and half of them or more met the
    /// network or a server in trouble.
    bool mostlyTransient(const QString &project, qint64 nowMs);

    /// What was decided about is over: it must not be decided upon again.
    void forgetClient(const QString &project, const QString &client);
    void forgetTransients(const QString &project);

private:
    struct Tally {
        int attempts = 0;
        QHash<quint64, int> accounts; ///< and how many of the attempts each had
        void add(quint64 account, int count);
        void remove(quint64 account, int count);
    };

    /// Attempts of one client, oldest first: good ones of one second are one run.
    struct Run {
        qint64 atMs = 0;
        quint64 account = 0;
        int count = 0;
        int code = -1; ///< index into codes; −1 = nothing that stops an account
    };
    struct Client {
        std::deque<Run> runs;
        size_t old = 0; ///< runs at the front that are older than 10 min, kept for the last 50
        int attempts = 0; ///< in runs
        int recent = 0; ///< of them in the last 10 min
        QStringList codes;
        QHash<int, Tally> recentByCode;

        void add(const EndedAttempt &attempt);
        void forgetBefore(qint64 nowMs);
        std::optional<SuspectedWave> amongRecent(int code) const;
        std::optional<SuspectedWave> amongLast(int code) const;
    };

    struct ProjectRun {
        qint64 atMs = 0;
        quint64 account = 0;
        int count = 0;
        bool transient = false;
    };
    struct Project {
        std::deque<ProjectRun> runs; ///< of the last 2 min
        Tally tally;
        int transients = 0;
        int unknownAccounts = 0;

        void add(const EndedAttempt &attempt);
        void forgetBefore(qint64 nowMs);
    };

    QHash<std::pair<QString, QString>, Client> m_clients;
    QHash<QString, Project> m_projects;
};

} // namespace tidekeeper::core
