// SPDX-License-Identifier: Apache-2.0
#include "alertrules.h"

#include <QtCore/QFile>
#include <QtCore/QProcess>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

QString alertFile()
{
    return QStringLiteral(TIDEKEEPER_SOURCE_DIR "/resources/alerts/tidekeeper.rules.yml");
}

QList<AlertRule> alertRules()
{
    QFile file(alertFile());
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QString text = QString::fromUtf8(file.readAll());
    static const QRegularExpression rule(u"- alert: (\\w+)\\n(.*?)(?=\\n\\s*- |\\z)"_s,
                                         QRegularExpression::DotMatchesEverythingOption);
    QList<AlertRule> rules;
    for (auto matches = rule.globalMatch(text); matches.hasNext();) {
        const QRegularExpressionMatch match = matches.next();
        rules.append({match.captured(1), match.captured(2)});
    }
    return rules;
}

QSet<QString> metricNames(const QString &text)
{
    static const QRegularExpression name(u"\\btidekeeper_[a-z0-9_]+"_s);
    static const QRegularExpression ofHistogram(u"_(bucket|count|sum)$"_s);
    QSet<QString> names;
    for (auto matches = name.globalMatch(text); matches.hasNext();)
        names.insert(matches.next().captured().remove(ofHistogram));
    return names;
}

QString promtoolComplaint(const QStringList &arguments, const QByteArray &input)
{
    QProcess promtool;
    promtool.setProcessChannelMode(QProcess::MergedChannels);
    promtool.start(QStringLiteral(TIDEKEEPER_PROMTOOL), arguments);
    if (!promtool.waitForStarted())
        return u"promtool does not start: "_s + promtool.errorString();
    promtool.write(input);
    promtool.closeWriteChannel();
    if (!promtool.waitForFinished(30'000))
        return u"promtool does not end"_s;
    const QString said = QString::fromUtf8(promtool.readAll());
    return promtool.exitCode() == 0 ? QString() : u"promtool: "_s + said;
}

} // namespace tidekeeper::test
