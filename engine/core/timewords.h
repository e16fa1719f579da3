// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

// Times as sentences say them. Pure.
namespace tidekeeper::core {

QString instantWords(qint64 ms); ///< "2027-01-15 08:00:00 UTC"
/// The one or two units that matter: "5 days 14 hours", "3 hours", "5 minutes", "1 second". Negative as its amount.
QString durationWords(qint64 ms);

} // namespace tidekeeper::core
