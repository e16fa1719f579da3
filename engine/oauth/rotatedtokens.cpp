// SPDX-License-Identifier: Apache-2.0
#include "oauth/rotatedtokens.h"

#include "log/log.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

RotatedTokens::RotatedTokens(GrantSource &grants, int retryMs) : m_grants(grants)
{
    m_timer.setInterval(retryMs);
    m_timer.setSingleShot(true); // started again when a round of retries is over
    QObject::connect(&m_timer, &QTimer::timeout, &m_timer, [this] { retry(); });
}

QCoro::Task<> RotatedTokens::save(QString account, QString from, QString to)
{
    // Rotated again before the first one was saved: the database still has what was there before both.
    const auto waiting = m_unsaved.constFind(account);
    const Unsaved rotation{waiting != m_unsaved.constEnd() && waiting->to == from ? waiting->from : from, to};
    m_unsaved.insert(account, rotation);
    Result<> saved = co_await m_grants.rotate(account, rotation.from, rotation.to);
    // A retry that was under way may have saved the first one just now.
    if (!saved && saved.error().code == "conflict"_L1 && rotation.from != from)
        saved = co_await m_grants.rotate(account, from, to);
    if (!saved && saved.error().code != "conflict"_L1)
        log::error(u"oauth"_s,
                   u"A rotated refresh token could not be saved and is kept in memory; saving is repeated. "
                   "Do not stop this engine before it is saved: "_s
                       + saved.error().text,
                   {{u"account"_s, account}});
    settle(account, rotation, saved);
}

QString RotatedTokens::newest(const QString &account, const QString &stored) const
{
    const auto it = m_unsaved.constFind(account);
    return it != m_unsaved.constEnd() && it->from == stored ? it->to : stored;
}

QCoro::Task<> RotatedTokens::retry()
{
    const QHash<QString, Unsaved> waiting = m_unsaved;
    for (auto it = waiting.begin(); it != waiting.end(); ++it) {
        const Result<> saved = co_await m_grants.rotate(it.key(), it->from, it->to);
        if (saved)
            log::info(u"oauth"_s, u"The rotated refresh token is saved now."_s, {{u"account"_s, it.key()}});
        settle(it.key(), *it, saved);
    }
}

/// A conflict means that the token was replaced, retired or removed meanwhile: that wins.
void RotatedTokens::settle(const QString &account, const Unsaved &tried, const Result<> &saved)
{
    const bool over = saved || saved.error().code == "conflict"_L1;
    const auto it = m_unsaved.constFind(account);
    if (over && it != m_unsaved.constEnd() && it->to == tried.to)
        m_unsaved.erase(it);
    else if (over && it != m_unsaved.constEnd() && saved && it->from == tried.from)
        m_unsaved[account].from = tried.to; // a newer one came while this one was being saved
    if (!m_unsaved.isEmpty() && !m_timer.isActive())
        m_timer.start();
}

} // namespace tidekeeper::oauth
