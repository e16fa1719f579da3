// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <tidekeeper/reply.h>

#include <QtCore/QJsonArray>
#include <QtCore/QJsonObject>

namespace tidekeeper::http {

// What consumers send to a limiter. Every failure is invalid_request with the field.

/// The body of an acquire, or one request of a batch. Ranges are the limiter's to check.
Result<QuotaRequest> quotaRequestFrom(const QJsonValue &body);

/// The requests of {"requests": […]}, 1 … 100; not looked at yet.
Result<QJsonArray> batchFrom(const QJsonObject &body);

/// The text of a body that has this field and no other.
Result<QString> onlyText(const QJsonObject &body, const QString &field);

} // namespace tidekeeper::http
