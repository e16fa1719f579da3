// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "simulate/policy.h"

#include <QtCore/QIODevice>

#include <string>
#include <vector>

namespace tidekeeper::cli {

/// As written on the command line.
struct SimulateOptions {
    int accounts = 10'000;
    int days = 30;
    std::string cluster = "1h";
    std::string lifetime = "7d";
    std::string window = "6d";
    int batchSize = 500;
    int consumers = 2;
    std::string callTime = "200ms";
    std::vector<std::string> outages;
    std::string errors = "0%";
    std::string revoked = "0%";
    std::string lostAnswers = "0%";
    std::vector<std::string> policies;
    std::string expiries;
    quint64 seed = 1;
};

/// Failures: usage; the text names the option. startMs: of the virtual time, when real expiries are given.
Result<simulate::Scenario> scenarioOf(const SimulateOptions &options, qint64 startMs);
/// All when none is named.
Result<QList<simulate::PolicyKind>> policiesOf(const SimulateOptions &options);

/// "worker=6h@5d": what, how long, and when after the start.
Result<simulate::Outage> outageFrom(const QString &text);
/// "2%" or "0.02": 0 … 1.
Result<double> shareFrom(const QString &text);
/// One watch a line: its expiry in epoch ms, or a JSON object with "watch_expires_at", as exported. 0 = no watch yet.
Result<QList<qint64>> expiriesFrom(QIODevice &lines);

} // namespace tidekeeper::cli
