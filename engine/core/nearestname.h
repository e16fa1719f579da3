// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QStringList>

namespace tidekeeper::core {

/// The known names nearest to a mistyped one, best first: those within a third of its length in edits
/// (at least 2), or that contain it. Empty when nothing is near.
QStringList nearestNames(const QString &wrong, const QStringList &known, int most = 3);

/// " Did you mean \"listen\"?" or nothing.
QString didYouMean(const QString &wrong, const QStringList &known);

} // namespace tidekeeper::core
