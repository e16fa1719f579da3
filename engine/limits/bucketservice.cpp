// SPDX-License-Identifier: Apache-2.0
#include "limits/bucketservice.h"

#include "core/account.h"
#include "limits/keys.h"
#include "limits/policy.h"
#include "limits/quotacheck.h"
#include "limits/recentaccounts.h"
#include "limits/redisanswer.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QJsonArray>
#include <QtCore/QPointer>
#include <QtCore/QRandomGenerator>
#include <QtCore/QTimer>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr int askAgainMs = 10;
constexpr qint64 longestAnswerWayMs = 25; ///< left of a deadline for the answer to arrive

Status unavailable(const QString &text)
{
    return Status::failure(u"limiter_unavailable"_s, text);
}

qint64 wholeUnits(qint64 milli)
{
    return qint64(std::floor(double(milli) / 1000));
}

} // namespace

struct BucketService::Project {
    QString limiter;
    QString name;
    Keys keys;
    Policy policy;
    RecentAccounts recent = RecentAccounts();
};

/// One acquire on its way.
struct BucketService::Call {
    std::shared_ptr<Project> project;
    QString account;
    QString lane;
    qint64 cost; ///< units
    QByteArrayList keys;
    QByteArrayList arguments;
    QuotaReply *reply;
    qint64 deadlineMs; ///< monotonic: when the caller gives up
    qint64 lastStartMs; ///< monotonic: later the function must not decide any more
    bool republished = false;
    bool clockCorrected = false;
};

BucketService::BucketService(redis::RedisConnection &connection, redis::FunctionLibrary &library,
                             const Clock &clock, QObject *parent)
    : QObject(parent), m_library(library), m_clock(clock),
      m_grantPrefix(QString::number(QRandomGenerator::system()->generate64(), 36))
{
    connect(&connection, &redis::RedisConnection::ready, this, &BucketService::publishAll);
}

BucketService::~BucketService() = default;

void BucketService::publish(const QString &limiter, const QString &project, const QJsonObject &policy,
                            Reply *reply)
{
    const Result<Policy> checked = Policy::from(policy);
    if (!checked) {
        reply->finish(checked.error(), {});
        return;
    }
    std::shared_ptr<Project> &known = m_projects[limiter][project];
    if (known)
        known->policy = *checked;
    else
        known = std::make_shared<Project>(Project{limiter, project, Keys(limiter, project), *checked});

    const QJsonObject result{{u"warnings"_s, QJsonArray::fromStringList(checked->warnings(project))}};
    publishToRedis(known, [reply, result](const Result<redis::Value> &answer) {
        if (answer && answer->isError())
            reply->finish(Status::failure(u"invalid_policy"_s, QString::fromUtf8(answer->text)), {});
        else if (!answer && kindOf(answer) == AnswerKind::Broken)
            reply->finish(answer.error(), {});
        else
            reply->finish(Status::success(), result);
    });
}

void BucketService::publishToRedis(const std::shared_ptr<Project> &project, Done done)
{
    const QByteArrayList keys{project->keys.policy(), project->keys.project()};
    const QPointer<BucketService> self(this);
    m_library.call("tidekeeper_publish_v1", keys, project->policy.arguments(),
                   [self, done = std::move(done)](const Result<redis::Value> &answer) {
                       if (self && answer && answer->items.size() == 2)
                           self->m_serverClock.seen(answer->items[1].toInteger(),
                                                    self->m_clock.monotonicMs());
                       done(answer);
                   });
}

/// After a connection was lost Redis may have been emptied: policies are put back before anyone misses them.
void BucketService::publishAll()
{
    for (const auto &projects : std::as_const(m_projects)) {
        for (const auto &project : projects)
            publishToRedis(project, [](const Result<redis::Value> &) {});
    }
}

void BucketService::acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply)
{
    const QString projectName = request.project.isEmpty() ? u"default"_s : request.project;
    const std::shared_ptr<Project> project = m_projects.value(limiter).value(projectName);
    if (!project) {
        reply->finish(Status::failure(u"unknown_project"_s, u"This limiter has no project of this name."_s,
                                      {{u"field"_s, u"project"_s}}),
                      {});
        return;
    }
    QuotaRequest checked = request;
    checked.account = core::normalizedEmail(request.account);
    if (checked.lane.isEmpty())
        checked.lane = u"realtime"_s;
    if (const Status status = checkQuota(checked); !status.ok()) {
        reply->finish(status, {});
        return;
    }

    const qint64 startMs = m_clock.monotonicMs();
    const qint64 deadlineMs = startMs + request.deadlineMs;
    const auto call = std::make_shared<Call>(Call{
        project,
        checked.account,
        checked.lane,
        request.cost,
        {project->keys.account(checked.account), project->keys.project(), project->keys.policy()},
        {QByteArray::number(request.cost), checked.lane.toLatin1(), QByteArray::number(request.maxWaitMs)},
        reply,
        deadlineMs,
        deadlineMs - std::min(longestAnswerWayMs, request.deadlineMs / 4)});
    if (!request.id.isEmpty())
        call->keys.append(project->keys.id(checked.account, request.id));
    send(call);
}

void BucketService::send(const std::shared_ptr<Call> &call)
{
    const qint64 leftMs = call->deadlineMs - m_clock.monotonicMs();
    if (leftMs <= 0) {
        redisIsAway(*call, u"it did not answer in time"_s);
        return;
    }
    QByteArrayList arguments = call->arguments;
    if (const auto deadlineUs = m_serverClock.at(call->lastStartMs))
        arguments.append(QByteArray::number(*deadlineUs));
    const QPointer<BucketService> self(this);
    m_library.call(
        "tidekeeper_acquire_v1", call->keys, arguments,
        [self, call](const Result<redis::Value> &answer) {
            if (self)
                self->answered(call, answer);
            else
                call->reply->finish(unavailable(u"The engine is shutting down."_s), {});
        },
        int(leftMs));
}

void BucketService::answered(const std::shared_ptr<Call> &call, const Result<redis::Value> &answer)
{
    switch (kindOf(answer)) {
    case AnswerKind::Decision:
        decided(call, *answer);
        return;
    case AnswerKind::Argument:
        call->reply->finish(argumentError(answer->text), {});
        return;
    case AnswerKind::NoPolicy:
        if (!call->republished) {
            publishAndAskAgain(call);
            return;
        }
        break;
    case AnswerKind::NotExecuted:
        askAgainSoon(call);
        return;
    case AnswerKind::Away:
        redisIsAway(*call, answer ? QString::fromUtf8(answer->text) : answer.error().text);
        return;
    case AnswerKind::Broken:
        break;
    }
    const QString what = !answer ? answer.error().text : QString::fromUtf8(answer->text);
    call->reply->finish(unavailable(u"The limiter's own functions failed in Redis: %1"_s.arg(what)), {});
}

void BucketService::publishAndAskAgain(const std::shared_ptr<Call> &call)
{
    call->republished = true;
    const QPointer<BucketService> self(this);
    publishToRedis(call->project, [self, call](const Result<redis::Value> &answer) {
        if (self && answer && !answer->isError())
            self->send(call);
        else
            call->reply->finish(unavailable(u"The limiter's policy could not be published again."_s), {});
    });
}

void BucketService::askAgainSoon(const std::shared_ptr<Call> &call)
{
    QTimer::singleShot(askAgainMs, this, [this, call] { send(call); });
}

void BucketService::decided(const std::shared_ptr<Call> &call, const redis::Value &decision)
{
    const auto item = [&decision](qsizetype i) { return decision.items[i].toInteger(); };
    QuotaAnswer answer;
    answer.granted = item(0) == 1;
    answer.waitMs = item(1);
    answer.retryAfterMs = item(2);
    answer.cost = call->cost;
    answer.refusedBy = QString::fromLatin1(decision.items[3].text);
    answer.accountLevel = item(4);
    answer.accountCapacity = item(5);
    answer.projectLevel = item(6);
    answer.projectCapacity = item(7);
    answer.nowUs = item(8);
    m_serverClock.seen(answer.nowUs, m_clock.monotonicMs());

    // Late although there is time: the server's clock was stepped forward, and now we know.
    if (answer.refusedBy == "late"_L1 && !call->clockCorrected && m_clock.monotonicMs() < call->lastStartMs) {
        call->clockCorrected = true;
        send(call);
        return;
    }
    if (answer.refusedBy == "never"_L1)
        answer.largestCost = call->project->policy.largestCost(call->lane);
    if (answer.granted)
        answer.grantId = grantIdOf(*call, answer.nowUs);
    call->project->recent.seen(call->account, answer.accountLevel, answer.nowUs);
    finish(*call, answer);
}

void BucketService::redisIsAway(const Call &call, const QString &why)
{
    if (!call.project->policy.failOpen) {
        ++m_outcomes[{call.project->limiter, call.lane, u"unavailable"_s}];
        call.reply->finish(
            unavailable(u"Redis cannot decide now: %1. With fail_open off nothing is granted."_s.arg(why)),
            {});
        return;
    }
    QuotaAnswer answer;
    answer.granted = true;
    answer.degraded = true;
    answer.cost = call.cost;
    answer.accountCapacity = call.project->policy.account.capacity * 1000;
    answer.projectCapacity = call.project->policy.project.capacity * 1000;
    finish(call, answer);
}

void BucketService::finish(const Call &call, const QuotaAnswer &answer)
{
    const QString outcome = answer.degraded ? u"degraded"_s
        : answer.granted                    ? u"granted"_s
                                            : answer.refusedBy;
    ++m_outcomes[{call.project->limiter, call.lane, outcome}];
    call.reply->finish(Status::success(), answer);
}

/// One name for one charge: a request that repeats its id gets the answer of the first, whichever engine it asks.
QString BucketService::grantIdOf(const Call &call, qint64 nowUs)
{
    if (call.keys.size() > 3) {
        const QByteArray charge = call.keys.at(3) + ' ' + QByteArray::number(nowUs);
        const QByteArray hash = QCryptographicHash::hash(charge, QCryptographicHash::Sha256).left(15);
        return QString::fromLatin1(hash.toBase64(QByteArray::Base64UrlEncoding));
    }
    return m_grantPrefix + u'-' + QString::number(++m_grants, 36);
}

QCoro::Task<Result<QJsonObject>> BucketService::levels(QString limiter, QString filter, int most)
{
    if (!m_projects.contains(limiter))
        co_return fail(u"unknown_limiter"_s, u"There is no limiter of this name with buckets."_s);
    QJsonArray projects;
    std::vector<QJsonObject> rows;
    qsizetype total = 0;
    const auto all = m_projects.value(limiter);
    for (const auto &project : all) {
        const Policy &policy = project->policy;
        const qint64 nowUs = m_serverClock.at(m_clock.monotonicMs()).value_or(0);
        const QStringList accounts = project->recent.mostDrained(filter, most, policy.account.refillPerMinute,
                                                                 policy.account.capacity * 1000, nowUs);
        QByteArrayList keys{project->keys.project(), project->keys.policy()};
        for (const QString &account : accounts)
            keys.append(project->keys.account(account));
        const Result<redis::Value> answer = co_await m_library.call("tidekeeper_levels_v1", keys, {});
        if (!answer)
            co_return fail(unavailable(answer.error().text));
        if (answer->isError())
            co_return fail(unavailable(QString::fromUtf8(answer->text)));
        const auto units = [&answer](qsizetype i) { return wholeUnits(answer->items[i].toInteger()); };
        projects.append(
            QJsonObject{{u"project"_s, project->name}, {u"level"_s, units(2)}, {u"capacity"_s, units(3)}});
        for (qsizetype i = 0; i < accounts.size(); ++i) {
            rows.push_back({{u"account"_s, accounts[i]},
                            {u"project"_s, project->name},
                            {u"level"_s, units(4 + i)},
                            {u"capacity"_s, units(1)}});
        }
        total += project->recent.size();
    }
    const auto fullness = [](const QJsonObject &row) {
        return row["level"_L1].toDouble() / row["capacity"_L1].toDouble();
    };
    std::stable_sort(rows.begin(), rows.end(), [&fullness](const QJsonObject &a, const QJsonObject &b) {
        return fullness(a) < fullness(b);
    });
    QJsonArray buckets;
    for (size_t i = 0; i < std::min(rows.size(), size_t(most)); ++i)
        buckets.append(rows[i]);
    co_return QJsonObject{
        {u"now"_s, m_clock.nowMs()}, {u"projects"_s, projects}, {u"buckets"_s, buckets}, {u"total"_s, total}};
}

} // namespace tidekeeper::limits
