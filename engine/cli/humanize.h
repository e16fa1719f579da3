// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

namespace tidekeeper::cli {

QString number(qint64 value); ///< "1,234,567"
/// The two largest units: "4 d 2 h", "2 h 5 min", "3 min 20 s", "12 s", "350 ms". Negative as its amount.
QString duration(qint64 ms);
/// "in 4 d 2 h", "3 min ago", "now"
QString relative(qint64 atMs, qint64 nowMs);
/// In the zone of this machine, with its offset: "2026-03-08 16:00:00 +09:00", or "… UTC". 0 → "never".
QString instant(qint64 atMs);
/// Without what would move the cursor or colour the terminal: data is not to be trusted there.
QString printable(const QString &text);

} // namespace tidekeeper::cli
