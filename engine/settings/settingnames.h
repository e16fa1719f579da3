// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

#include <optional>
#include <tuple>

namespace tidekeeper::settings {

/// What operators changed of limiters is kept under "limiter.<name>", and limits of single accounts under
/// "limiter.<name>.override.<project>.<account>". A "." or "%" in a limiter's or project's name is percent-encoded.
extern const QString limiterPrefix; ///< "limiter."

QString settingName(const QString &limiter);

struct OverrideName {
    QString project;
    QString account; ///< normalized
    bool operator<(const OverrideName &other) const
    {
        return std::tie(project, account) < std::tie(other.project, other.account);
    }
};

QString settingName(const QString &limiter, const OverrideName &name);
/// What begins the names of all overrides of a limiter.
QString overridePrefix(const QString &limiter);
/// The other way; nothing when it is not an override of this limiter.
std::optional<OverrideName> overrideNameFrom(const QString &limiter, const QString &settingName);

} // namespace tidekeeper::settings
