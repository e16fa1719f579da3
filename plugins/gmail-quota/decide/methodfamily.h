// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>

namespace gmailquota {

/// The family of methods that Gmail names in brackets behind a refusal, "(Mail sending)" → "mail_sending". Empty for a
/// name that is not known: then the refusal concerns all methods, which is the safe side.
QString familyNamed(const QString &suffix);

/// {method: family} of all methods that belong to one: those that a refusal of the family concerns.
QJsonObject methodFamilies();

} // namespace gmailquota
