// SPDX-License-Identifier: Apache-2.0
#include "renewal/granthints.h"

#include "core/planner.h"
#include "log/log.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

QJsonObject view(const core::ShortLivedClient &client)
{
    return {{u"project"_s, client.project},
            {u"client"_s, client.client},
            {u"deaths"_s, client.deaths},
            {u"text"_s, core::consentScreenText(client)}};
}

} // namespace

const QString GrantHints::code = u"consent_screen_in_testing"_s;

GrantHints::GrantHints(store::GrantDeathStore &deaths, const Clock &clock, Publish publish, QObject *parent)
    : QObject(parent), m_deaths(deaths), m_clock(clock), m_publish(std::move(publish))
{
    m_timer.setInterval(everyMs);
    connect(&m_timer, &QTimer::timeout, this, [this] { look(); });
}

void GrantHints::start()
{
    m_timer.start();
    look();
}

QCoro::Task<> GrantHints::look()
{
    const qint64 nowMs = m_clock.nowMs();
    const auto deaths = co_await m_deaths.since(nowMs - core::grantDeathsShownMs);
    if (!deaths) {
        log::warning(u"grants"_s, deaths.error().text);
        co_return;
    }
    const QList<core::ShortLivedClient> found = core::shortLivedClients(*deaths, nowMs);
    m_clients = found;
    for (const core::ShortLivedClient &client : found)
        co_await tell(client, nowMs);
    if (nowMs - m_prunedAt < core::dayMs)
        co_return;
    m_prunedAt = nowMs;
    const Result<> pruned = co_await m_deaths.prune(nowMs - keptDays * core::dayMs);
    if (!pruned)
        log::warning(u"grants"_s, pruned.error().text);
}

QCoro::Task<> GrantHints::tell(core::ShortLivedClient client, qint64 nowMs)
{
    const Result<bool> isOurs =
        co_await m_deaths.tell(client.project, client.client, nowMs, nowMs - keptDays * core::dayMs);
    if (!isOurs)
        log::warning(u"grants"_s, isOurs.error().text);
    else if (*isOurs)
        m_publish(code, view(client));
}

QJsonArray GrantHints::status() const
{
    QJsonArray list;
    for (const core::ShortLivedClient &client : m_clients) {
        QJsonObject hint = view(client);
        hint.insert("code"_L1, code);
        list.append(hint);
    }
    return list;
}

QString GrantHints::of(const QString &project, const QString &client) const
{
    for (const core::ShortLivedClient &each : m_clients) {
        if (each.project == project && each.client == client)
            return core::consentScreenText(each);
    }
    return {};
}

} // namespace tidekeeper::renewal
