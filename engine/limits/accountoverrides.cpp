// SPDX-License-Identifier: Apache-2.0
#include "limits/accountoverrides.h"

#include <QtCore/QPointer>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr std::size_t mostUnderWay = 100; // a thousand overrides must not hold up the decisions between them
constexpr int callMs = 500;
const QByteArrayList somethingElse{"?"}; // known to be there, but not with what

} // namespace

QByteArrayList AccountLimits::arguments() const
{
    return {QByteArray::number(capacity * 1000), QByteArray::number(refillPerMinute),
            QByteArray::number(reserveMilli), QByteArray::number(places)};
}

AccountOverrides::AccountOverrides(redis::RedisConnection &connection, redis::FunctionLibrary &library,
                                   Projects &projects)
    : m_connection(connection), m_library(library), m_published(projects)
{
    connect(&projects, &Projects::added, this, &AccountOverrides::bring);
    // Redis may be another one now, or may have been emptied or restored while it was away.
    connect(&connection, &redis::RedisConnection::ready, this, [this] {
        for (auto &[name, project] : m_projects)
            beginAnew(project);
    });
    connect(&projects, &Projects::written, this, [this](const QString &limiter, const QString &project) {
        if (const auto found = m_projects.find({limiter, project}); found != m_projects.end())
            beginAnew(found->second);
    });
}

void AccountOverrides::set(const QString &limiter, const QString &project, const Wanted &wanted)
{
    m_projects[{limiter, project}].wanted = wanted;
    bring(limiter, project);
}

/// To Redis and to this engine's own buckets, as soon as the project is there.
void AccountOverrides::bring(const QString &limiter, const QString &project)
{
    const auto own = m_projects.find({limiter, project});
    const std::shared_ptr<Project> published = m_published.find(limiter, project);
    if (own == m_projects.end() || !published)
        return;
    own->second.keys = published->keys;
    QHash<QByteArray, Policy::Scope> scopes;
    QHash<QByteArray, QString> accounts;
    const Wanted &wanted = own->second.wanted;
    for (auto account = wanted.constBegin(); account != wanted.constEnd(); ++account) {
        const QByteArray key = published->keys.account(account.key());
        scopes.insert(key,
                      {.capacity = account->capacity,
                       .refillPerMinute = account->refillPerMinute,
                       .reserveMilli = account->reserveMilli});
        accounts.insert(key, account.key());
    }
    published->local.setOverrides(scopes);
    published->withOwnLimits = accounts;
    compare(own->second);
}

const AccountLimits *AccountOverrides::find(const QString &limiter, const QString &project,
                                            const QString &account) const
{
    const auto entry = m_projects.find({limiter, project});
    if (entry == m_projects.end())
        return nullptr;
    const auto found = entry->second.wanted.constFind(account);
    return found == entry->second.wanted.constEnd() ? nullptr : &*found;
}

void AccountOverrides::retry()
{
    for (auto &[name, project] : m_projects)
        compare(project);
}

void AccountOverrides::beginAnew(Own &project)
{
    project.known.clear();
    project.isListed = false;
    compare(project);
}

void AccountOverrides::compare(Own &project)
{
    if (!project.keys || !m_connection.isReady())
        return;
    project.toDo.clear();
    for (const auto &[key, arguments] : project.known)
        project.toDo.emplace(key, QByteArrayList());
    for (auto it = project.wanted.constBegin(); it != project.wanted.constEnd(); ++it)
        project.toDo[project.keys->account(it.key())] = it->arguments();
    std::erase_if(project.toDo, [&project](const auto &item) {
        const auto known = project.known.find(item.first);
        return known != project.known.end() && !item.second.isEmpty() && known->second == item.second;
    });
    if (!project.isListed)
        list(project);
    sendSome(project);
}

/// Fields of the policy that are named as keys of accounts are overrides; an engine that was away while one was taken
/// back finds it here.
void AccountOverrides::list(Own &project)
{
    const QPointer<AccountOverrides> self(this);
    project.isListed = true;
    m_connection.send({"HKEYS", project.keys->policy()},
                      [self, &project](const Result<redis::Value> &answer) {
                          if (!self)
                              return;
                          project.isListed = answer && !answer->isError();
                          if (!project.isListed)
                              return;
                          const QByteArray prefix = project.keys->anyAccount();
                          for (const redis::Value &field : answer->items) {
                              if (field.text.startsWith(prefix))
                                  project.known.try_emplace(field.text, somethingElse);
                          }
                          self->compare(project);
                      });
}

void AccountOverrides::sendSome(Own &project)
{
    for (auto next = project.toDo.begin(); next != project.toDo.end();) {
        if (project.underWay.size() >= mostUnderWay)
            return;
        const bool isFree =
            project.underWay.insert(next->first).second; // else after the one that is under way
        if (isFree)
            send(project, next->first, next->second);
        next = isFree ? project.toDo.erase(next) : std::next(next);
    }
}

void AccountOverrides::send(Own &project, const QByteArray &accountKey, const QByteArrayList &arguments)
{
    project.known[accountKey] = arguments;
    const QPointer<AccountOverrides> self(this);
    m_library.call(
        "tidekeeper_override_v1", {accountKey, project.keys->project(), project.keys->policy()}, arguments,
        [self, &project, accountKey, arguments](const Result<redis::Value> &answer) {
            if (!self)
                return;
            project.underWay.erase(accountKey);
            const bool isDone = answer && !answer->isError();
            if (!isDone)
                project.known[accountKey] = somethingElse; // until the next retry()
            else if (arguments.isEmpty())
                project.known.erase(accountKey);
            if (isDone)
                self->sendSome(project);
        },
        callMs);
}

} // namespace tidekeeper::limits
