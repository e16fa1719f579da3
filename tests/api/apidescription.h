// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"

#include <QtCore/QStringList>

namespace tidekeeper::test {

/// The operations of an OpenAPI file as "GET /api/v1/accounts/{id} viewer", sorted. Reads paths, methods and x-role by
/// their indentation (2, 4 and 6 spaces), which is how the file is written.
QStringList describedRoutes(const QString &file);

/// What a router serves, in the same form.
QStringList servedRoutes(const std::vector<http::Router::Route> &routes);

/// One sentence for each route that is served but not described, described but not served, or has another role.
/// Empty when both say the same.
QStringList differences(const QStringList &served, const QStringList &described);

} // namespace tidekeeper::test
