// SPDX-License-Identifier: Apache-2.0
#include "http/router.h"

#include <QtCore/QUrl>

#include <algorithm>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

bool isParameter(QStringView segment)
{
    return segment.startsWith(u'{');
}

bool matches(const QStringList &pattern, const QList<QStringView> &path)
{
    return std::equal(pattern.begin(), pattern.end(), path.begin(), path.end(),
                      [](QStringView p, QStringView s) { return isParameter(p) ? !s.isEmpty() : p == s; });
}

bool writtenOutFirst(const QStringList &a, const QStringList &b)
{
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(), [](QStringView x, QStringView y) {
            return isParameter(x) != isParameter(y) ? isParameter(y) : !isParameter(x) && x < y;
        });
}

QString decoded(QStringView segment)
{
    return QUrl::fromPercentEncoding(segment.toUtf8());
}

} // namespace

QString toString(Method method)
{
    switch (method) {
    case Method::Get:
        return u"GET"_s;
    case Method::Post:
        return u"POST"_s;
    case Method::Put:
        return u"PUT"_s;
    case Method::Patch:
        return u"PATCH"_s;
    case Method::Delete:
        return u"DELETE"_s;
    }
    return {};
}

void Router::add(Method method, const QString &path, Role role, Handler handler)
{
    Entry entry{method, path.split(u'/'), role, std::move(handler)};
    const auto place =
        std::upper_bound(m_entries.begin(), m_entries.end(), entry, [](const Entry &a, const Entry &b) {
            return writtenOutFirst(a.segments, b.segments);
        });
    m_entries.insert(place, std::move(entry));
}

Result<Router::Match> Router::match(Method method, const QString &path) const
{
    const QList<QStringView> segments = QStringView(path).split(u'/');
    for (const Entry &entry : m_entries) {
        if (entry.method != method || !matches(entry.segments, segments))
            continue;
        Match match{&entry.handler, entry.role, {}};
        for (qsizetype i = 0; i < segments.size(); ++i) {
            if (const QString &name = entry.segments[i]; isParameter(name))
                match.parameters.insert(name.mid(1, name.size() - 2), decoded(segments[i]));
        }
        return match;
    }
    const QString allow = allowed(path);
    if (allow.isEmpty())
        return fail(u"not_found"_s, u"There is nothing at this path. Paths start with /api/v1/."_s);
    return fail(u"method_not_allowed"_s,
                u"This path does not take %1. It takes %2."_s.arg(toString(method), allow),
                {{u"allow"_s, allow}});
}

QString Router::allowed(const QString &path) const
{
    const QList<QStringView> segments = QStringView(path).split(u'/');
    QStringList names;
    for (const Entry &entry : m_entries) {
        if (!matches(entry.segments, segments))
            continue;
        names.append(toString(entry.method));
        if (entry.method == Method::Get)
            names.append(u"HEAD"_s);
    }
    if (!names.isEmpty())
        names.append(u"OPTIONS"_s);
    names.removeDuplicates();
    return names.join(u", "_s);
}

std::vector<Router::Route> Router::routes() const
{
    std::vector<Route> routes;
    for (const Entry &entry : m_entries)
        routes.push_back({entry.method, entry.segments.join(u'/'), entry.role});
    return routes;
}

} // namespace tidekeeper::http
