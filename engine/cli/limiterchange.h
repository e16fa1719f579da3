// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QJsonObject>
#include <QtCore/QStringList>
#include <QtCore/QUrlQuery>

#include <string>
#include <vector>

namespace tidekeeper::cli {

/// limiter set NAME KEY=VALUE… [--project P] [--account A] [--reset [KEY…]] [--yes]
struct LimiterChangeOptions {
    std::string limiter = "gmail";
    std::vector<std::string> settings;
    std::string project;
    std::string account;
    std::vector<std::string> reset;
    bool resets = false; ///< --reset was given, with keys or without
    bool yes = false;
};

/// The request that it means, below the limiter's path.
struct LimiterChange {
    QByteArray method;
    QString path;
    QUrlQuery query;
    QJsonObject body; ///< empty with PATCH: there is nothing to do
    QStringList consequences; ///< of switches that it turns, in words
};

/// limiter: as the API shows it now. Failure: usage.
Result<LimiterChange> limiterChange(const QJsonObject &limiter, const LimiterChangeOptions &options);

} // namespace tidekeeper::cli
