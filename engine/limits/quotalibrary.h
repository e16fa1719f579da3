// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>

namespace tidekeeper::limits {

/// The code of the Redis library tidekeeper_quota: the files lua/quota*.lua in their order.
QByteArray libraryCode();

} // namespace tidekeeper::limits
