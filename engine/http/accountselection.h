// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"
#include "store/accountstore.h"

#include <tidekeeper/services.h>

#include <QtCore/QJsonArray>

#include <functional>

// Which accounts an action on many is about, as its body says.
namespace tidekeeper::http {

struct AccountSelection {
    QJsonObject body; ///< as it was sent
    store::AccountFilter filter; ///< in the order of ids, which nothing that happens meanwhile changes
    double share = 1; ///< this part of them, by the hash of the id: a larger share holds every smaller one
    qint64 most = 0; ///< accounts in this request; 0 = all of them
    bool dryRun = false;

    /// The filter alone says who it is: nothing is to be judged one by one.
    bool isPlain() const { return filter.ids.isEmpty() && share >= 1; }
    QJsonObject forAudit() const; ///< of many ids the first ones
};

/// Fields of the body: "ids" (at most 1,000) or "filter" (as the query of GET /accounts; {} = all), and "share" (0.1 or
/// "10%"), "dry_run", "limit" and "cursor" (to work in parts). What the action itself reads is named by `others`.
/// Failure: invalid_request with the field.
Result<AccountSelection> accountSelection(Request request, const QStringList &others);

/// The filter of a selection may name this state or none, and then means it.
Result<> requireState(AccountSelection &selection, const QList<core::AccountState> &allowed);

/// The accounts of a selection, page by page. Main thread.
class SelectedAccounts {
public:
    SelectedAccounts(store::AccountStore &accounts, AccountSelection selection, qint64 nowMs,
                     qint64 windowMs);

    bool atEnd() const { return m_atEnd; }
    /// At most 500, of this share. Failures: as AccountStore::list().
    QCoro::Task<Result<QList<store::AccountRow>>> next();
    /// How many match the filter, whatever the share: quicker than to go through them.
    QCoro::Task<Result<qint64>> total();
    /// Those that an id was given for and that are not there; complete at the end.
    QStringList missing() const;
    /// Where the next request goes on; empty when there is nothing left.
    QString cursor() const { return m_selection.filter.cursor; }

private:
    store::AccountStore &m_accounts;
    AccountSelection m_selection;
    qint64 m_nowMs;
    qint64 m_windowMs;
    qint64 m_seen = 0;
    QStringList m_missing;
    bool m_atEnd = false;
};

/// What an action on many did, for its answer and the audit.
struct SelectionResult {
    qint64 matched = 0;
    qint64 done = 0;
    qint64 skippedCount = 0;
    QJsonArray skipped; ///< {"id", "reason"} of the first hundred

    void skip(const QString &id, const QString &reason);
    /// {"matched", doneName, "skipped_count", "skipped", "next_cursor"}.
    QJsonObject toJson(const QString &doneName, const QString &cursor) const;
};

} // namespace tidekeeper::http
