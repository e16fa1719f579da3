// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

namespace tidekeeper::log {

/// The text with every e-mail address and everything that looks like a credential replaced: bearer tokens, Google
/// access and refresh tokens, secrets and passwords in forms, URLs and JSON. The one place that decides it. [any]
QString redact(const QString &text);

} // namespace tidekeeper::log
