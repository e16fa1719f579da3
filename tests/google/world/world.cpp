// SPDX-License-Identifier: Apache-2.0
#include "google/world/world.h"

#include <QtCore/QRandomGenerator>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

QString unguessable()
{
    return QString::number(QRandomGenerator::global()->generate64(), 16).rightJustified(16, u'0');
}

} // namespace

QString defaultProjectId()
{
    return u"sim-project"_s;
}

QString defaultClientId()
{
    return u"sim-client"_s;
}

QString defaultClientSecret()
{
    return u"sim-secret"_s;
}

World::World(SimClock &simClock) : clock(simClock)
{
    project(defaultProjectId());
    clients.emplace(defaultClientId(),
                    OAuthClient{defaultClientId(), defaultClientSecret(), defaultProjectId()});
}

std::shared_ptr<Project> World::project(const QString &id)
{
    auto &entry = projects[id];
    if (!entry) {
        entry = std::make_shared<Project>();
        entry->id = id;
        entry->number = QString::number(123'456'789'011 + qint64(projects.size()));
    }
    return entry;
}

std::shared_ptr<Project> World::findProject(const QString &idOrNumber) const
{
    for (const auto &[id, project] : projects) {
        if (id == idOrNumber || project->number == idOrNumber)
            return project;
    }
    return nullptr;
}

std::shared_ptr<User> World::user(const QString &email, const QString &projectId, int threads)
{
    auto &entry = users[{email, projectId}];
    if (!entry) {
        auto mailbox = m_mailboxes.value(email).lock();
        if (!mailbox) {
            mailbox = std::make_shared<Mailbox>(email, threads, 1'000'000 + 1'000 * quint64(users.size()));
            m_mailboxes.insert(email, mailbox);
        }
        entry = std::make_shared<User>();
        entry->email = email;
        entry->project = project(projectId);
        entry->mailbox = std::move(mailbox);
    }
    return entry;
}

std::shared_ptr<User> World::findUser(const QString &email, const QString &projectId) const
{
    const auto found = users.find({email, projectId});
    return found == users.end() ? nullptr : found->second;
}

void World::mailArrived(const QString &email)
{
    const qint64 nowMs = clock.wallMs();
    for (auto user = users.lower_bound({email, QString()}); user != users.end() && user->first.first == email;
         ++user) {
        if (user->second->watching(nowMs))
            notify(*user->second);
    }
}

Limits World::limitsOf(const Project &project) const
{
    const PublishedLimits published = publishedLimits(presetOf(project));
    return {settings.userLimitPerMinute ? settings.userLimitPerMinute : published.userPerMinute,
            settings.projectLimitPerMinute ? settings.projectLimitPerMinute : published.projectPerMinute,
            settings.concurrency, settings.chargeRefused};
}

QString World::newRefreshToken()
{
    // The slash is as in Google's: whoever forgets to encode the form finds out.
    return u"1//sim-%1-%2"_s.arg(QString::number(++m_serial), unguessable());
}

QString World::issue(AccessToken token)
{
    if (m_tokens.size() >= m_sweepAt)
        forgetExpiredTokens();
    token.expiresAtUs = clock.monotonicUs() + settings.tokenLifetimeS * 1'000'000;
    const QString text = u"ya29.sim-%1-%2"_s.arg(QString::number(++m_serial), unguessable());
    m_tokens.insert(text, std::move(token));
    ++totals.tokensIssued;
    return text;
}

std::optional<AccessToken> World::accepted(const QByteArray &authorization) const
{
    if (authorization.left(7).toLower() != "bearer ")
        return std::nullopt;
    const auto found = m_tokens.constFind(QString::fromLatin1(authorization.mid(7).trimmed()));
    if (found == m_tokens.constEnd() || found->expiresAtUs <= clock.monotonicUs())
        return std::nullopt;
    const auto grant = grants.constFind(found->refreshToken);
    if (grant != grants.constEnd() && grant->revoked)
        return std::nullopt;
    return *found;
}

void World::forgetExpiredTokens()
{
    const qint64 nowUs = clock.monotonicUs();
    m_tokens.removeIf(
        [nowUs](QHash<QString, AccessToken>::iterator token) { return token->expiresAtUs <= nowUs; });
    m_sweepAt = 2 * m_tokens.size() + 4096;
}

} // namespace tidekeeper::googlesim
