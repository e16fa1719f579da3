// SPDX-License-Identifier: Apache-2.0
#include "limits/levelreader.h"

#include "core/account.h"
#include "limits/usereader.h"

#include <QtCore/QSet>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 keptMs = 200; // with the index, which is written within 0.8 s, at most a second old
constexpr int rowsPerCall = 100; // one call must not keep Redis from deciding for long
constexpr int searchedPerCall = 1'000;
constexpr int mostSearched = 100'000;
constexpr qsizetype longestAccountBytes = 320;
const QByteArray allAccounts("*");

struct ListedAccount {
    double fullness;
    QJsonObject json;
};

tl::unexpected<Error> unknownLimiter()
{
    return fail(u"unknown_limiter"_s, u"There is no limiter of this name with buckets."_s);
}

QByteArrayList namesOf(const Levels &levels)
{
    QByteArrayList names{allAccounts};
    for (const AccountRow &row : levels.accounts)
        names.append(row.name);
    return names;
}

QByteArrayList mostDrained(const Keys &keys, int offset)
{
    return {"ZRANGE", keys.active(), QByteArray::number(offset),
            QByteArray::number(offset + searchedPerCall - 1), "REV"};
}

/// The index moves between two calls: who moved down is in both answers.
void append(Levels *levels, Levels more)
{
    QSet<QByteArray> known;
    for (const AccountRow &row : levels->accounts)
        known.insert(row.name);
    for (AccountRow &row : more.accounts) {
        if (!known.contains(row.name))
            levels->accounts.push_back(std::move(row));
    }
}

QJsonArray mostDrainedFirst(std::vector<ListedAccount> accounts, int most)
{
    std::stable_sort(accounts.begin(), accounts.end(),
                     [](const ListedAccount &a, const ListedAccount &b) { return a.fullness < b.fullness; });
    QJsonArray array;
    for (size_t i = 0; i < std::min(accounts.size(), size_t(most)); ++i)
        array.append(accounts[i].json);
    return array;
}

} // namespace

LevelReader::LevelReader(redis::RedisConnection &connection, redis::FunctionLibrary &library,
                         const Projects &projects, const Clock &clock)
    : m_connection(connection), m_library(library), m_projects(projects), m_cache(clock, keptMs)
{ }

QCoro::Task<Result<QJsonObject>> LevelReader::list(QString limiter, QString filter, int most)
{
    const QString key = u"list %1 %2 %3"_s.arg(limiter).arg(most).arg(filter);
    return m_cache.get(key, [this, limiter, filter, most] { return readList(limiter, filter, most); });
}

QCoro::Task<Result<QJsonObject>> LevelReader::readList(QString limiter, QString filter, int most)
{
    const auto projects = m_projects.of(limiter);
    if (projects.isEmpty())
        co_return unknownLimiter();
    QJsonArray projectRows;
    std::vector<ListedAccount> accounts;
    qint64 total = 0;
    qint64 nowUs = 0;
    bool isAll = true;
    for (const auto &project : projects) {
        Result<Levels> levels;
        if (filter.isEmpty()) {
            levels = co_await top(project, most);
        } else {
            const Result<Found> found = co_await search(project, filter, most);
            if (!found)
                co_return fail(found.error());
            isAll = isAll && found->isAll;
            levels = co_await of(project, found->names);
        }
        if (!levels)
            co_return fail(levels.error());
        nowUs = levels->nowUs;
        total += filter.isEmpty() ? levels->active : qint64(levels->accounts.size());
        const auto uses = co_await readUses(m_connection, project->keys, namesOf(*levels), nowUs / 1000);
        for (const AccountRow &row : levels->accounts) {
            const auto lanes = uses.value(row.name).lanes();
            const QString account = project->accountNamed(row.name);
            accounts.push_back({row.fullness(), accountJson(row, account, project->name, lanes)});
        }
        projectRows.append(
            projectJson(*levels, project->name, project->policy, uses.value(allAccounts).uses()));
    }
    co_return QJsonObject{{u"now"_s, nowUs / 1000},
                          {u"projects"_s, projectRows},
                          {u"buckets"_s, mostDrainedFirst(std::move(accounts), most)},
                          {u"total"_s, total},
                          {u"complete"_s, isAll}};
}

QCoro::Task<Result<QJsonObject>> LevelReader::account(QString limiter, QString projectName, QString account)
{
    if (m_projects.of(limiter).isEmpty())
        co_return unknownLimiter();
    const std::shared_ptr<Project> project = m_projects.find(limiter, projectName);
    if (!project)
        co_return fail(Projects::unknown());
    const QString address = core::normalizedEmail(account);
    if (address.isEmpty() || address.toUtf8().size() > longestAccountBytes) {
        co_return fail(u"invalid_request"_s, u"\"account\" must have 1 to 320 bytes of UTF-8."_s,
                       {{u"field"_s, u"account"_s}});
    }
    const QByteArray name = project->keys.accountName(address);
    const QByteArrayList names{name};
    const Result<Levels> levels = co_await of(project, names);
    if (!levels)
        co_return fail(levels.error());
    const qint64 nowMs = levels->nowUs / 1000;
    const auto uses = co_await readUses(m_connection, project->keys, names, nowMs);
    const MinuteOfUses minute = uses.value(name);
    QJsonObject json = accountJson(levels->accounts.front(), address, project->name, minute.lanes());
    json[u"now"_s] = nowMs;
    json[u"uses"_s] = usesJson(minute.uses());
    co_return json;
}

QCoro::Task<QJsonObject> LevelReader::booked(QString limiter)
{
    // Named, because g++ 12 destroys a converted temporary of an awaited call twice.
    const AnswerCache::Read read = [this, limiter] { return readBooked(limiter); };
    const Result<QJsonObject> answer = co_await m_cache.get(u"booked "_s + limiter, read);
    co_return answer.value_or(QJsonObject());
}

QCoro::Task<Result<QJsonObject>> LevelReader::readBooked(QString limiter)
{
    QJsonObject booked;
    const auto projects = m_projects.of(limiter);
    for (const auto &project : projects) {
        const Result<Levels> levels = co_await top(project, 0);
        if (levels)
            booked[project->name] = bookedJson(levels->project, project->policy);
    }
    co_return booked;
}

QCoro::Task<Result<Levels>> LevelReader::top(Reading project, int most)
{
    const auto range = [](int offset, int count) {
        return QByteArrayList{"top", QByteArray::number(offset), QByteArray::number(count)};
    };
    Result<Levels> levels = co_await ask(project, range(0, std::min(most, rowsPerCall)));
    for (int offset = rowsPerCall; levels && offset < std::min(qint64(most), levels->active);
         offset += rowsPerCall) {
        Result<Levels> more = co_await ask(project, range(offset, std::min(most - offset, rowsPerCall)));
        if (!more)
            co_return more;
        append(&*levels, std::move(*more));
    }
    co_return levels;
}

QCoro::Task<Result<Levels>> LevelReader::of(Reading project, QByteArrayList names)
{
    const auto some = [&names](qsizetype first) {
        return QByteArrayList{"of"} + names.mid(first, rowsPerCall);
    };
    Result<Levels> levels = co_await ask(project, some(0));
    for (qsizetype first = rowsPerCall; levels && first < names.size(); first += rowsPerCall) {
        Result<Levels> more = co_await ask(project, some(first));
        if (!more)
            co_return more;
        append(&*levels, std::move(*more));
    }
    co_return levels;
}

QCoro::Task<Result<Levels>> LevelReader::ask(Reading project, QByteArrayList arguments)
{
    const QByteArrayList keys{project->keys.project(), project->keys.policy(), project->keys.active()};
    const Result<redis::Value> answer = co_await m_library.call("tidekeeper_levels_v1", keys, arguments);
    co_return levelsFrom(answer);
}

QCoro::Task<Result<LevelReader::Found>> LevelReader::search(Reading project, QString filter, int most)
{
    Found found;
    for (int offset = 0;; offset += searchedPerCall) {
        const Result<redis::Value> members =
            co_await m_connection.command(mostDrained(project->keys, offset));
        if (!members)
            co_return fail(u"limiter_unavailable"_s, members.error().text);
        for (const redis::Value &member : members->items) {
            const QString account = project->accountNamed(member.text);
            found.isAll = found.isAll && !account.isEmpty(); // else it cannot be searched
            if (!account.contains(filter, Qt::CaseInsensitive) || found.names.contains(member.text))
                continue;
            found.names.append(member.text);
            if (found.names.size() >= most) {
                found.isAll = false;
                co_return found;
            }
        }
        if (members->items.size() < searchedPerCall)
            co_return found;
        if (offset + searchedPerCall >= mostSearched) {
            found.isAll = false;
            co_return found;
        }
    }
}

} // namespace tidekeeper::limits
