// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decide/apierror.h"

#include <QtCore/QtGlobal>

namespace watchrenewal {

/// Until when a rate answer wants us to wait, epoch ms; 0 = it does not say. The time in the message ("Retry after
/// 2026-06-12T19:16:46.648Z") comes first, corrected by the answer's Date for a clock of ours that is off; then the
/// Retry-After header, in seconds or as a date.
qint64 retryUntil(const ApiAnswer &answer, const QString &message, qint64 nowMs);

} // namespace watchrenewal
