// SPDX-License-Identifier: Apache-2.0
#include "http/audit.h"

#include "log/log.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

QCoro::Task<> Audit::note(Principal who, QString action, QString target, QJsonObject details)
{
    details.insert("role"_L1, toString(who.role));
    store::AuditEntry entry;
    entry.at = m_clock.nowMs();
    entry.actor = who.name;
    entry.action = action;
    entry.target = target;
    entry.details = details;
    const Result<> written = co_await m_journal.audit(entry);
    if (!written) {
        details.insert("actor"_L1, who.name);
        details.insert("action"_L1, action);
        details.insert("target"_L1, target);
        log::error(u"audit"_s, u"An operator's action is not in the audit: "_s + written.error().text,
                   details);
    }
}

} // namespace tidekeeper::http
