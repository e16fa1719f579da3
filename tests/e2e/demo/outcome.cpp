// SPDX-License-Identifier: Apache-2.0
#include "demo/outcome.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::demo {

Outcome outcomeOf(const QJsonObject &state, const QString &projectId, const QString &busyAccount,
                  const Tally &tally)
{
    Outcome outcome;
    outcome.tally = tally;
    const QJsonArray accounts = state.value(u"accounts"_s).toArray();
    for (const QJsonValue &account : accounts) {
        if (account[u"project_id"].toString() != projectId)
            continue;
        ++outcome.accounts;
        outcome.renewed += account[u"watches"].toArray().isEmpty() ? 0 : 1;
        outcome.lapses += account[u"lapses"].toInteger();
        outcome.refusedByGoogle += account[u"refused"].toInteger();
        outcome.worstMinute = std::max(outcome.worstMinute, account[u"units_worst_60s"].toInteger());
        if (account[u"email"].toString() == busyAccount)
            outcome.lastMinute = account[u"units_last_60s"].toInteger();
    }
    const QJsonArray projects = state.value(u"projects"_s).toArray();
    for (const QJsonValue &project : projects) {
        if (project[u"project_id"].toString() == projectId)
            outcome.limit = project[u"user_limit_per_minute"].toInteger();
    }
    return outcome;
}

bool Outcome::good() const
{
    // Without one granted call the limiter has proved nothing.
    return accounts > 0 && renewed == accounts && lapses == 0 && refusedByGoogle == 0 && tally.granted > 0
        && tally.gmailFailed == 0;
}

QString Outcome::progress(qint64 seconds) const
{
    return u"%1 s  renewed %2/%3   quota: granted %4, refused by the limiter %5, %6 units in the last minute"_s
        .arg(QString::number(seconds).rightJustified(4), QString::number(renewed), QString::number(accounts),
             QString::number(tally.granted), QString::number(tally.refused), QString::number(lastMinute));
}

QString Outcome::summary() const
{
    const auto row = [](const QString &name, const QString &value) {
        return u"  "_s + name.leftJustified(34) + value + u'\n';
    };
    const auto number = [](qint64 value) { return QString::number(value); };
    QString text = u"Summary, by the simulator's own books\n"_s;
    text += row(u"accounts renewed"_s, u"%1 of %2"_s.arg(renewed).arg(accounts));
    text += row(u"watches lapsed"_s, number(lapses));
    text += row(u"calls refused by Google"_s, number(refusedByGoogle));
    text += row(u"units in the worst minute"_s, u"%1 of %2 allowed"_s.arg(worstMinute).arg(limit));
    text += row(u"quota granted"_s, number(tally.granted));
    text += row(u"quota refused by the limiter"_s, number(tally.refused));
    text += row(u"Gmail calls by the ten consumers"_s, number(tally.gmailCalls));
    text += row(u"longest wait of a realtime call"_s, u"%1 ms"_s.arg(tally.longestRealtimeWaitMs));
    if (!tally.lastProblem.isEmpty())
        text += row(u"last problem"_s, tally.lastProblem);
    return text
        + (good() ? u"All watches are alive and no limit was broken.\n"_s
                  : u"This is not as it should be.\n"_s);
}

} // namespace tidekeeper::demo
