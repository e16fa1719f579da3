// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QByteArray>
#include <QtCore/QString>

// The file that holds the sealing key: 64 hexadecimal digits that nobody else may read.
namespace tidekeeper::oauth {

/// The key, Sealing::keyBytes long. Failures: sealing_key_missing, sealing_key_exposed, sealing_key_invalid.
Result<QByteArray> readSealingKey(const QString &file);

/// Makes a random key and the file for it, whole or not at all. Failure: sealing_key_unwritable.
Result<QByteArray> makeSealingKey(const QString &file);

} // namespace tidekeeper::oauth
