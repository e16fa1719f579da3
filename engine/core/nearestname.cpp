// SPDX-License-Identifier: Apache-2.0
#include "core/nearestname.h"

#include <QtCore/QList>

#include <algorithm>
#include <numeric>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

qsizetype editDistance(const QString &a, const QString &b)
{
    QList<qsizetype> previous(b.size() + 1);
    std::iota(previous.begin(), previous.end(), 0);
    QList<qsizetype> current(b.size() + 1);
    for (qsizetype i = 0; i < a.size(); ++i) {
        current[0] = i + 1;
        for (qsizetype j = 0; j < b.size(); ++j) {
            const qsizetype replaced = previous[j] + (a[i] == b[j] ? 0 : 1);
            current[j + 1] = std::min({previous[j + 1] + 1, current[j] + 1, replaced});
        }
        previous.swap(current);
    }
    return previous.last();
}

} // namespace

QStringList nearestNames(const QString &wrong, const QStringList &known, int most)
{
    constexpr qsizetype longestCompared = 100;
    const QString name = wrong.left(longestCompared).toLower();
    const qsizetype tolerated = std::max<qsizetype>(2, name.size() / 3);
    QList<std::pair<qsizetype, QString>> candidates;
    for (const QString &candidate : known) {
        const QString lower = candidate.toLower();
        qsizetype distance = editDistance(name, lower);
        if (name.size() >= 3 && lower.contains(name))
            distance = std::min<qsizetype>(distance, 1);
        if (distance <= tolerated)
            candidates.append({distance, candidate});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    QStringList names;
    for (const auto &[distance, candidate] : candidates.mid(0, most))
        names.append(candidate);
    return names;
}

QString didYouMean(const QString &wrong, const QStringList &known)
{
    const QStringList names = nearestNames(wrong, known, 1);
    return names.isEmpty() ? QString() : u" Did you mean \"%1\"?"_s.arg(names.first());
}

} // namespace tidekeeper::core
