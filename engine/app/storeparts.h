// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/sealing.h"
#include "store/accountstore.h"
#include "store/coveragestore.h"
#include "store/devicestore.h"
#include "store/grantdeathstore.h"
#include "store/grantstore.h"
#include "store/journal.h"
#include "store/lapsestore.h"
#include "store/pacestore.h"
#include "store/pushstore.h"
#include "store/settingsstore.h"

namespace tidekeeper::app {

/// The database, what is on it, and the key that seals the tokens in it. Main thread.
class StoreParts {
public:
    explicit StoreParts(const QString &url)
        : database(url), settings(database), journal(database), accounts(database), grants(database),
          grantDeaths(database), devices(database), coverage(database), lapses(database), pace(database),
          pushes(database)
    { }

    /// Failures: database_*, sealing_key_*.
    QCoro::Task<Result<>> open(QString keyFile, qint64 nowMs)
    {
        const Result<> opened = co_await database.open();
        if (!opened)
            co_return opened;
        const auto key = co_await oauth::Sealing::open(keyFile, settings, nowMs);
        if (!key)
            co_return fail(key.error());
        sealing = *key;
        co_return Result<>();
    }

    store::Database database;
    store::SettingsStore settings;
    store::Journal journal;
    store::AccountStore accounts;
    store::GrantStore grants;
    store::GrantDeathStore grantDeaths;
    store::DeviceStore devices;
    store::CoverageStore coverage;
    store::LapseStore lapses;
    store::PaceStore pace;
    store::PushStore pushes;
    std::shared_ptr<const oauth::Sealing> sealing; ///< after open()
};

} // namespace tidekeeper::app
