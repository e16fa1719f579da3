// SPDX-License-Identifier: Apache-2.0
#include "gmailquotaplugin.h"

#include "decide/policy.h"
#include "decide/price.h"
#include "decide/reportrequest.h"

#include <tidekeeper/callback.h>

#include <QtCore/QJsonArray>

#include <algorithm>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace gmailquota {

namespace {

const QString limiterName = u"gmail"_s;

QStringList textsOf(const QJsonValue &list)
{
    QStringList texts;
    for (const QJsonValue &one : list.toArray())
        texts.append(one.toString());
    return texts;
}

/// What the buckets have to know of an answer.
QJsonObject verdictOf(const ReportRequest &request, const RateAnswer &answer)
{
    QJsonObject verdict{
        {u"account"_s, request.account},
        {u"project"_s, request.project},
        {u"rate"_s, answer.rate},
        {u"scope"_s, answer.scope},
        {u"family"_s, answer.family},
        {u"retry_after_ms"_s, answer.retryAfterMs},
        {u"told_limit"_s, answer.toldLimit},
    };
    if (!request.grantId.isEmpty())
        verdict[u"grant_id"_s] = request.grantId;
    return verdict;
}

QJsonObject resultOf(const RateAnswer &answer)
{
    // Google's page "Resolve errors": begin to retry at least one second after the error.
    constexpr qint64 earliestRetryMs = 1'000;
    return {
        {u"rate"_s, answer.rate},
        {u"scope"_s, answer.scope},
        {u"family"_s, answer.family},
        {u"reason"_s, answer.reason},
        {u"retryable"_s, answer.retryable},
        {u"retry_after_ms"_s, answer.retryable ? std::max(answer.retryAfterMs, earliestRetryMs) : 0},
        {u"text"_s, answer.sentence},
    };
}

} // namespace

Status GmailQuotaPlugin::initialize(Host *host)
{
    m_host = host;
    m_buckets = service<Buckets>(host);
    m_feedback = service<BucketFeedback>(host);
    m_clock = service<Clock>(host);
    const Status status = settingsOf(host->configuration(), host->projects(), &m_configured);
    m_settings = std::make_shared<Settings>(m_configured);
    return status;
}

void GmailQuotaPlugin::start(Reply *reply)
{
    publishNext(m_settings->projects.keys(), reply);
}

void GmailQuotaPlugin::stop(Reply *reply)
{
    reply->finish(Status::success(), {});
}

/// One project after the other, as it is in force when its turn comes; a policy that is refused ends it with its
/// sentence.
void GmailQuotaPlugin::publishNext(QStringList projects, Reply *reply)
{
    if (projects.isEmpty()) {
        reply->finish(Status::success(), {});
        return;
    }
    const QString project = projects.takeFirst();
    const auto published = [=, this](const Status &status, const QJsonObject &result) {
        if (!status.ok()) {
            reply->finish(status, {});
            return;
        }
        takeWarnings(project, textsOf(result["warnings"_L1]));
        publishNext(projects, reply);
    };
    const QJsonObject policy = policyOf(m_settings->section, m_settings->projects[project]);
    m_buckets->publish(limiterName, project, policy, whenDone(this, published));
}

/// New ones are logged.
void GmailQuotaPlugin::takeWarnings(const QString &project, const QStringList &warnings)
{
    const QStringList before = std::exchange(m_warnings[project], warnings);
    for (const QString &warning : warnings) {
        if (!before.contains(warning))
            m_host->log(2, warning);
    }
}

QJsonObject GmailQuotaPlugin::describe() const
{
    return gmailquota::describe(*m_settings, m_warnings);
}

Status GmailQuotaPlugin::unknownProject() const
{
    const QString text = u"There is no project of this name; configured are: %1."_s;
    return Status::failure(u"unknown_project"_s, text.arg(m_settings->projects.keys().join(u", "_s)),
                           {{u"field"_s, u"project"_s}});
}

void GmailQuotaPlugin::acquire(const QuotaRequest &request, QuotaReply *reply)
{
    QuotaRequest priced = request;
    if (priced.project.isEmpty())
        priced.project = u"default"_s;
    const auto quota = m_settings->projects.constFind(priced.project);
    if (quota == m_settings->projects.constEnd()) {
        reply->finish(unknownProject(), {});
        return;
    }
    if (const Status status = price(quota->costs, request, &priced.cost); !status.ok()) {
        reply->finish(status, {});
        return;
    }
    m_buckets->acquire(limiterName, priced, reply);
}

void GmailQuotaPlugin::report(const QJsonObject &answer, Reply *reply)
{
    ReportRequest request;
    if (const Status status = readReport(answer, &request); !status.ok()) {
        reply->finish(status, {});
        return;
    }
    if (!m_settings->projects.contains(request.project)) {
        reply->finish(unknownProject(), {});
        return;
    }
    const RateAnswer meaning = classify(request.answer, m_clock->nowMs());
    QJsonObject result = resultOf(meaning);
    if (!meaning.rate && !meaning.admitted) {
        reply->finish(Status::success(), result);
        return;
    }
    const auto learned = [=](const Status &status, const QJsonObject &state) mutable {
        if (meaning.rate) {
            for (const QString &key : {u"retry_after_ms"_s, u"frozen_until"_s, u"pace"_s})
                result[key] = state[key];
        }
        reply->finish(status, status.ok() ? result : QJsonObject());
    };
    m_feedback->report(limiterName, verdictOf(request, meaning), whenDone(this, learned));
}

void GmailQuotaPlugin::adjust(const QJsonObject &changes, bool dryRun, Reply *reply)
{
    const auto wanted = std::make_shared<Settings>(m_configured);
    const Status status = gmailquota::adjust(changes, wanted.get());
    if (!status.ok() || dryRun) {
        reply->finish(status, {});
        return;
    }
    takeOver(wanted, reply);
}

/// A policy that the buckets refuse all the same takes everything back, unless something newer came meanwhile.
void GmailQuotaPlugin::takeOver(const SharedSettings &wanted, Reply *reply)
{
    const SharedSettings before = std::exchange(m_settings, wanted);
    QStringList changed;
    for (const QString &project : wanted->projects.keys()) {
        if (policyOf(wanted->section, wanted->projects[project])
            != policyOf(before->section, before->projects[project]))
            changed.append(project);
    }
    const auto published = [=, this](const Status &status, const QJsonObject &) {
        if (status.ok() || m_settings != wanted) {
            reply->finish(status, {});
            return;
        }
        m_settings = before;
        const Status refused = Status::failure(u"invalid_settings"_s, status.text, status.details);
        publishNext(changed,
                    whenDone(this, [=](const Status &, const QJsonObject &) { reply->finish(refused, {}); }));
    };
    publishNext(changed, whenDone(this, published));
}

} // namespace gmailquota
