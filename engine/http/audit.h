// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"
#include "store/journal.h"

#include <tidekeeper/services.h>

namespace tidekeeper::http {

/// Who did what, for actions whose effect is not in the database. Main thread.
class Audit {
public:
    Audit(store::Journal &journal, const Clock &clock) : m_journal(journal), m_clock(clock) { }

    /// After the action. It stands also when the database does not take the entry, which then is in the log.
    /// The role of who did it is added to the details.
    QCoro::Task<> note(Principal who, QString action, QString target, QJsonObject details);

private:
    store::Journal &m_journal;
    const Clock &m_clock;
};

} // namespace tidekeeper::http
