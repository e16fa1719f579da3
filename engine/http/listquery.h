// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"

#include <QtCore/QStringList>

// The parameters of a list's query, checked. Failure: invalid_request with the field.
namespace tidekeeper::http {

constexpr int largestPage = 1'000;

/// Refuses a parameter that is not in known, with the nearest name, and one that is given twice.
Result<> checkParameters(const Request &request, const QStringList &known);

/// "limit": a whole number from 1 to largestPage, or usual when it is not given.
Result<int> limitOf(const Request &request, int usual);

} // namespace tidekeeper::http
