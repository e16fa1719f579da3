// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/settingsstore.h"

namespace tidekeeper::oauth {

/// Which sealing key a database belongs to.
struct SealingIdentity {
    QString fingerprint; ///< of the key; empty = no engine has used the database yet
    QString next; ///< while the key is being changed: of the new one
};

/// Failure: database_unavailable.
QCoro::Task<Result<SealingIdentity>> readSealingIdentity(store::SettingsStore &settings);

/// Failures: setting_changed (somebody else was quicker), database_unavailable.
QCoro::Task<Result<>> replaceSealingIdentity(store::SettingsStore &settings, SealingIdentity from,
                                             SealingIdentity to, qint64 nowMs);

} // namespace tidekeeper::oauth
