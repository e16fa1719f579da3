// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "store/accountstore.h"
#include "store/pacestore.h"

#include <QCoro/QCoroTask>

namespace tidekeeper::renewal {

/// What renewing needs of the database. Failures as of store::AccountStore.
class RenewalStore {
public:
    virtual ~RenewalStore() = default;

    virtual QCoro::Task<Result<QList<store::DueRow>>> due(qint64 nowMs, int limit) = 0;
    /// As store::PaceStore has it: the pace that all engines share.
    virtual QCoro::Task<Result<int>> takePaced(core::Pace pace, int wanted, qint64 nowMs) = 0;
    virtual QCoro::Task<Result<>> returnPaced(core::Pace pace, int unused) = 0;
    virtual QCoro::Task<Result<qint64>> activeSubscriptions() = 0;
    virtual QCoro::Task<Result<int>> pullForward(QList<store::AccountRow> rows, qint64 spreadMs,
                                                 qint64 nowMs) = 0;
    virtual QCoro::Task<Result<QList<store::AccountRow>>> leaving(qint64 nowMs, int limit) = 0;
    virtual QCoro::Task<Result<store::AccountRow>> find(QString account) = 0;
    /// True when an account other than this one, and not leaving itself, lives on the same mailbox and project.
    virtual QCoro::Task<Result<bool>> mailboxIsShared(core::Account account, qint64 nowMs) = 0;

    /// Compare-and-set on the generation.
    virtual QCoro::Task<Result<core::Subscription>> save(core::Subscription subscription) = 0;
    /// Compare-and-set on the account's generation.
    virtual QCoro::Task<Result<>> setState(core::Account account, core::AccountState state, QString reason,
                                           qint64 nowMs) = 0;
    /// The user's grant is gone: needs_reauth, its token set aside. Compare-and-set as setState.
    virtual QCoro::Task<Result<>> retire(core::Account account, QString reason, qint64 nowMs) = 0;
    virtual QCoro::Task<Result<>> purge(QString account) = 0;
};

} // namespace tidekeeper::renewal
