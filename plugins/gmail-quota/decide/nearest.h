// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QStringList>

namespace gmailquota {

/// The known names that resemble a mistyped one, best first, at most three: at least half of the pairs of letters of
/// both are shared.
QStringList nearestOf(const QString &wrong, const QStringList &known);

/// " Did you mean \"slots\"?" or nothing.
QString didYouMean(const QString &wrong, const QStringList &known);

} // namespace gmailquota
