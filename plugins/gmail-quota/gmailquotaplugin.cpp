// SPDX-License-Identifier: Apache-2.0
#include "gmailquotaplugin.h"

#include "decide/price.h"

#include <tidekeeper/callback.h>

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace gmailquota {

namespace {

const QString limiterName = u"gmail"_s;

} // namespace

Status GmailQuotaPlugin::initialize(Host *host)
{
    m_host = host;
    m_buckets = service<Buckets>(host);
    m_settings = host->configuration();
    const QJsonObject projects = host->projects();
    for (auto project = projects.begin(); project != projects.end(); ++project) {
        ProjectQuota quota;
        if (const Status status = quotaOf(project.key(), project->toObject(), &quota); !status.ok())
            return status;
        m_projects.insert(project.key(), quota);
    }
    return Status::success();
}

void GmailQuotaPlugin::start(Reply *reply)
{
    publishNext(m_projects.keys(), reply);
}

void GmailQuotaPlugin::stop(Reply *reply)
{
    reply->finish(Status::success(), {});
}

/// One project after the other; a policy that is refused ends the start with its sentence.
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
        QStringList &warnings = m_warnings[project];
        for (const QJsonValue warning : result["warnings"_L1].toArray()) {
            warnings.append(warning.toString());
            m_host->log(2, warnings.last());
        }
        publishNext(projects, reply);
    };
    m_buckets->publish(limiterName, project, policyOf(m_projects.value(project)), whenDone(this, published));
}

QJsonObject GmailQuotaPlugin::policyOf(const ProjectQuota &quota) const
{
    return {
        {u"account_capacity"_s, quota.accountCapacity},
        {u"account_refill_per_minute"_s, quota.accountRefill},
        {u"project_capacity"_s, quota.projectCapacity},
        {u"project_refill_per_minute"_s, quota.projectRefill},
        {u"published_account"_s, quota.publishedAccount},
        {u"published_project"_s, quota.publishedProject},
        {u"largest_single_cost"_s, quota.costs.dearest().cost},
        {u"bulk_reserve"_s, m_settings["bulk_reserve"_L1]},
        {u"project_bulk_reserve"_s, m_settings["project_bulk_reserve"_L1]},
        {u"key_ttl_ms"_s, m_settings["key_ttl"_L1]},
        {u"send_slack_ms"_s, m_settings["send_slack"_L1]},
        {u"fail_open"_s, m_settings["fail_open"_L1]},
        {u"enforce"_s, m_settings["enforce"_L1]},
    };
}

QJsonObject GmailQuotaPlugin::describe() const
{
    QJsonObject projects;
    for (auto quota = m_projects.begin(); quota != m_projects.end(); ++quota) {
        QJsonObject project = policyOf(*quota);
        project[u"preset"_s] = quota->preset;
        project[u"warnings"_s] = QJsonArray::fromStringList(m_warnings.value(quota.key()));
        projects[quota.key()] = project;
    }
    return {
        {u"name"_s, limiterName},
        {u"enforce"_s, m_settings["enforce"_L1]},
        {u"fail_open"_s, m_settings["fail_open"_L1]},
        {u"projects"_s, projects},
    };
}

void GmailQuotaPlugin::acquire(const QuotaRequest &request, QuotaReply *reply)
{
    QuotaRequest priced = request;
    if (priced.project.isEmpty())
        priced.project = u"default"_s;
    const auto quota = m_projects.constFind(priced.project);
    if (quota == m_projects.constEnd()) {
        const QString text = u"There is no project of this name; configured are: %1."_s;
        reply->finish(Status::failure(u"unknown_project"_s, text.arg(m_projects.keys().join(u", "_s)),
                                      {{u"field"_s, u"project"_s}}),
                      {});
        return;
    }
    if (const Status status = price(quota->costs, request, &priced.cost); !status.ok()) {
        reply->finish(status, {});
        return;
    }
    m_buckets->acquire(limiterName, priced, reply);
}

} // namespace gmailquota
