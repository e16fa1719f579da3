// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace tidekeeper::pluginhost {

/// Checks an object against a JSON schema (draft 4) and fills in the schema's defaults. Stricter than the
/// standard: keys that the schema does not name are refused, with the nearest known one, unless it says
/// additionalProperties; "format": "cron" is enforced, where an empty text is left to minLength; "format": "duration"
/// (milliseconds) is for the sentences. Failure schema_violation: text has one sentence per fault, details "keys" names them.
Result<QJsonObject> checkAgainstSchema(const QJsonObject &schema, const QJsonObject &value);

} // namespace tidekeeper::pluginhost
