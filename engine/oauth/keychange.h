// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/sealing.h"
#include "store/sealedvalues.h"
#include "store/settingsstore.h"

#include <functional>

namespace tidekeeper::oauth {

/// Seals every stored secret anew, from one key to another, while no engine runs on the database. In batches, each
/// whole or not at all: cut short at any point, the same change goes on where it stopped, and until it is complete no
/// engine starts. The database is said to belong to the new key last. Main thread.
class KeyChange {
public:
    struct Progress {
        qint64 done = 0;
        qint64 total = 0;
        qint64 unreadable = 0; ///< opened with neither key: of no use before, left as they are
    };
    using Report = std::function<void(const Progress &progress)>;

    KeyChange(std::shared_ptr<const Sealing> from, std::shared_ptr<const Sealing> to,
              store::SealedValues &values, store::SettingsStore &settings)
        : m_from(std::move(from)), m_to(std::move(to)), m_values(values), m_settings(settings)
    { }

    /// report: after each batch. Failures: sealing_key_unused (no engine has used the database), sealing_key_mismatch (`from` is not its key),
    /// sealing_change_other (a change to a third key is unfinished), setting_changed, sealing_failed,
    /// database_unavailable.
    QCoro::Task<Result<Progress>> run(qint64 nowMs, Report report);

private:
    QCoro::Task<Result<>> begin(qint64 nowMs);
    QCoro::Task<Result<>> reseal(store::SealedValues::Table table, Report report);
    QCoro::Task<Result<>> end(qint64 nowMs);
    Result<store::SealedValue> sealedAnew(const store::SealedValue &value, const QByteArray &plain) const;

    std::shared_ptr<const Sealing> m_from;
    std::shared_ptr<const Sealing> m_to;
    store::SealedValues &m_values;
    store::SettingsStore &m_settings;
    Progress m_progress;
};

} // namespace tidekeeper::oauth
