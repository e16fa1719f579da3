// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QSet>
#include <QtCore/QStringList>

namespace tidekeeper::test {

struct AlertRule {
    QString name;
    QString text; ///< its lines in the file
};

QString alertFile(); ///< the path of resources/alerts/tidekeeper.rules.yml
/// The rules in the order of the file.
QList<AlertRule> alertRules();
/// Names of metrics that stand in a text, without what Prometheus appends to those of histograms.
QSet<QString> metricNames(const QString &text);

/// What promtool says; empty when it is content. input: for its standard input.
QString promtoolComplaint(const QStringList &arguments, const QByteArray &input = {});

} // namespace tidekeeper::test
