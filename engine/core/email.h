// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QString>

namespace tidekeeper::core {

/// The address as it is stored (normalizedEmail), or invalid_request with what is wrong. Checks the form a mailbox
/// address must have, not whether it exists. The text never repeats the address.
Result<QString> checkedEmail(const QString &email);

} // namespace tidekeeper::core
