// SPDX-License-Identifier: Apache-2.0
#include "nearest.h"

#include <QtCore/QSet>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace gmailquota {

namespace {

QSet<QString> pairsOfLetters(const QString &name)
{
    const QString lower = name.toLower();
    QSet<QString> pairs;
    for (qsizetype i = 0; i + 1 < lower.size(); ++i)
        pairs.insert(lower.mid(i, 2));
    return pairs;
}

} // namespace

QStringList nearestOf(const QString &wrong, const QStringList &known)
{
    constexpr qsizetype longestCompared = 100;
    constexpr double alike = 0.5; // of the pairs of letters of both names are shared
    constexpr qsizetype most = 3;

    const QSet<QString> wanted = pairsOfLetters(wrong.left(longestCompared));
    QList<std::pair<double, QString>> candidates;
    for (const QString &candidate : known) {
        const QSet<QString> pairs = pairsOfLetters(candidate);
        const qsizetype shared = (QSet<QString>(pairs) & wanted).size();
        const double likeness = 2.0 * shared / std::max<qsizetype>(1, pairs.size() + wanted.size());
        if (likeness >= alike)
            candidates.append({likeness, candidate});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto &a, const auto &b) { return a.first > b.first; });
    QStringList names;
    for (const auto &[likeness, candidate] : candidates.mid(0, most))
        names.append(candidate);
    return names;
}

QString didYouMean(const QString &wrong, const QStringList &known)
{
    const QStringList names = nearestOf(wrong, known);
    return names.isEmpty() ? QString() : u" Did you mean \"%1\"?"_s.arg(names.first());
}

} // namespace gmailquota
