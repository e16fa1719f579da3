// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "preset.h"

#include <QtCore/QMap>

namespace gmailquota {

/// What is in force: the section [plugins.gmail-quota] without "enabled", durations in ms, and the quota of each
/// project, every value with where it comes from.
struct Settings {
    QJsonObject section;
    QJsonObject sources; ///< of the section: "default", "file" or "operator" by key
    QMap<QString, ProjectQuota> projects;
};

/// The configuration alone. section: complete, as Host::configuration() gives it; a value that equals the default
/// counts as the default. Failure: bad_configuration with the field.
tidekeeper::Status settingsOf(const QJsonObject &section, const QJsonObject &projects, Settings *settings);

/// What operators changed, over the configuration: keys of the section, and {"projects": {NAME: {"account_capacity",
/// …}}}. Failure: invalid_settings with the field, "near" when a key is unknown; settings then stay as they are.
tidekeeper::Status adjust(const QJsonObject &changes, Settings *settings);

} // namespace gmailquota
