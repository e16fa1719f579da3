// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"
#include "core/breaker.h"
#include "renewal/evidence.h"

#include <tidekeeper/services.h>

#include <QtCore/QHash>
#include <QtCore/QJsonArray>
#include <QtCore/QList>

#include <optional>

namespace tidekeeper::renewal {

/// The breakers of configuration: one per project, per project and client, and per client and Workspace domain. Main
/// thread.
class Breakers {
public:
    explicit Breakers(const Clock &clock) : m_clock(clock) { }

    /// Leave to work on one account; goes back with report().
    struct Ticket {
        bool admitted = false;
        qint64 waitMs = 0; ///< when not: until it is worth to ask again
        QString text; ///< when not: what is wrong
        QList<std::pair<QString, core::Breaker::Admission>> parts;
    };
    /// forced: an operator asked, so the probe does not wait for its time.
    Ticket admit(const core::Account &account, bool forced);

    struct Changes {
        bool opened = false;
        bool closed = false; ///< both: one fault was mended, the next one came to light
    };
    Changes report(const core::Account &account, const Ticket &ticket, const Attempted &attempted);

    /// Until it is worth to ask again, for whatever stops this account; nothing when nothing does.
    struct Stop {
        qint64 waitMs = 0;
        QString text;
    };
    std::optional<Stop> stopOf(const core::Account &account) const;

    /// Until somebody who waits may go on, > 0: the next probe, or the end of the last wait that was handed out.
    std::optional<qint64> nextWakeMs() const;

    /// The open ones: [{"scope", "project", "client", "domain", "code", "text", "remedy", "next_probe_in_ms"}].
    QJsonArray open() const;

private:
    struct Entry {
        core::Breaker breaker;
        Fault fault; ///< of the last failure
        QJsonObject shown;
    };

    const Clock &m_clock;
    QHash<QString, Entry> m_entries;
    qint64 m_waitersUntilMs = 0; ///< monotonic; a breaker that closes early leaves rows that wait until then
};

} // namespace tidekeeper::renewal
