// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QProcessEnvironment>
#include <QtCore/QStringList>

namespace tidekeeper::test {

struct Run {
    int exitCode = -1;
    QString out;
    QString err;

    QJsonObject json() const;
    /// A line of standard output with its runs of spaces made one.
    bool hasLine(const QString &line) const;
};

/// Runs the program `tidekeeper` as a user would, while the event loop of the test goes on. The environment names no
/// engine of this machine.
Run runProgram(const QStringList &arguments, const QByteArray &input = {},
               const QProcessEnvironment &extra = QProcessEnvironment());

} // namespace tidekeeper::test
