// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.h"

namespace gmailquota {

/// One project's policy in the form that Buckets::publish takes.
QJsonObject policyOf(const QJsonObject &section, const ProjectQuota &quota);

/// What GET /limiters/gmail shows: the section, each project's policy with its preset and warnings, and the sources of
/// all that can be changed. warnings: by project.
QJsonObject describe(const Settings &settings, const QMap<QString, QStringList> &warnings);

} // namespace gmailquota
