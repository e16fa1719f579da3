// SPDX-License-Identifier: Apache-2.0
#include "apidescription.h"

#include <QtCore/QFile>
#include <QtCore/QRegularExpression>

namespace tidekeeper::test {

using namespace Qt::StringLiterals;

QStringList describedRoutes(const QString &file)
{
    QFile yaml(file);
    if (!yaml.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", qPrintable(file));
    static const QRegularExpression section(u"^(\\w+):"_s);
    static const QRegularExpression path(u"^  (/\\S*):$"_s);
    static const QRegularExpression method(u"^    (get|put|post|patch|delete):$"_s);
    static const QRegularExpression role(u"^      x-role: (\\w+)$"_s);
    QStringList routes;
    QString inSection;
    QString inPath;
    for (const QString &line : QString::fromUtf8(yaml.readAll()).split(u'\n')) {
        if (const auto match = section.match(line); match.hasMatch())
            inSection = match.captured(1);
        if (inSection != u"paths"_s)
            continue;
        if (const auto match = path.match(line); match.hasMatch())
            inPath = match.captured(1);
        else if (const auto operation = method.match(line); operation.hasMatch())
            routes.append(operation.captured(1).toUpper() + u' ' + inPath + u" (no x-role)"_s);
        else if (const auto named = role.match(line); named.hasMatch() && !routes.isEmpty())
            routes.last().replace(u"(no x-role)"_s, named.captured(1));
    }
    routes.sort();
    return routes;
}

QStringList servedRoutes(const std::vector<http::Router::Route> &routes)
{
    QStringList names;
    for (const http::Router::Route &route : routes)
        names.append(u"%1 %2 %3"_s.arg(http::toString(route.method), route.path, http::toString(route.role)));
    names.sort();
    return names;
}

QStringList differences(const QStringList &served, const QStringList &described)
{
    QStringList sentences;
    for (const QString &route : served) {
        if (!described.contains(route))
            sentences.append(u"served, but not described: %1"_s.arg(route));
    }
    for (const QString &route : described) {
        if (!served.contains(route))
            sentences.append(u"described, but not served: %1"_s.arg(route));
    }
    return sentences;
}

} // namespace tidekeeper::test
