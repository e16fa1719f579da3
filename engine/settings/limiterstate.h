// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings/accountoverride.h"
#include "settings/fit.h"
#include "settings/settingnames.h"

#include <QtCore/QMap>

namespace tidekeeper::settings {

/// One limiter and what operators changed of it.
struct LimiterState {
    struct Override {
        QString setting; ///< its name in the database
        QJsonObject changes; ///< as stored
        Result<AccountOverride> checked;
    };

    LimiterProfile profile;
    QJsonObject stored = {}; ///< as the database has it
    QJsonObject applied = {}; ///< of it what fits and is in force
    QList<Misfit> misfits = {};
    QString problem = {}; ///< why the limiter did not take over what is stored; empty: it did
    std::map<OverrideName, Override> overrides = {};
    QStringList strayOverrides = {}; ///< settings among the overrides whose names say no account

    QMap<QString, QJsonObject> overrideRows = {}; ///< what `overrides` was made of: settings by name …
    QJsonObject overridePolicies = {}; ///< … and the projects' limits

    /// Every setting of the section and `enabled`, as they are in force.
    QJsonObject effective() const { return profile.effective(applied).value_or(QJsonObject()); }

    void takeOverrides(const QString &limiter, const QMap<QString, QJsonObject> &rows,
                       const QJsonObject &policies);
};

} // namespace tidekeeper::settings
