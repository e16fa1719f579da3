// SPDX-License-Identifier: Apache-2.0
#include "core/grantage.h"

#include "core/planner.h"

#include <map>
#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qint64 testingLifeMs = 7 * dayMs;
constexpr qint64 slackMs =
    hourMs; // the grant came here a little after it was issued, an access token outlives it
constexpr qint64 mostBlurMs = 2 * dayMs; // renewals are daily; one may have been put off
constexpr int fewestDeaths = 3;

/// Whether the time between "it lived" and "it was dead" is short and holds the seventh day.
bool diedAtSevenDays(const GrantDeath &death)
{
    if (death.issuedAt <= 0)
        return false;
    const qint64 livedMs = std::max<qint64>(0, death.lastSuccessAt - death.issuedAt);
    const qint64 deadMs = death.diedAt - death.issuedAt;
    return livedMs <= testingLifeMs + slackMs && deadMs >= testingLifeMs - slackMs
        && deadMs - livedMs <= mostBlurMs;
}

} // namespace

QList<ShortLivedClient> shortLivedClients(const QList<GrantDeath> &deaths, qint64 nowMs)
{
    struct Count {
        int all = 0;
        int atSevenDays = 0;
    };
    std::map<std::pair<QString, QString>, Count> counts;
    for (const GrantDeath &death : deaths) {
        if (death.diedAt <= nowMs - grantDeathsShownMs)
            continue;
        Count &count = counts[{death.project, death.client}];
        ++count.all;
        count.atSevenDays += diedAtSevenDays(death) ? 1 : 0;
    }
    QList<ShortLivedClient> found;
    for (const auto &[of, count] : counts) {
        if (count.atSevenDays >= fewestDeaths && 2 * count.atSevenDays >= count.all)
            found.append({of.first, of.second, count.atSevenDays});
    }
    return found;
}

QString consentScreenText(const ShortLivedClient &client)
{
    return u"In the last week %3 grants of project \"%1\", client \"%2\", ended 7 days after they were "
           u"given: its "
           u"OAuth consent screen seems to be in testing. Publish the app (Google Cloud console, OAuth "
           u"consent "
           u"screen, \"In production\"), then have these users sign in again: tokens issued in testing keep "
           u"the "
           u"limit."_s.arg(client.project, client.client)
               .arg(client.deaths);
}

} // namespace tidekeeper::core
