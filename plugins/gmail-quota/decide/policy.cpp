// SPDX-License-Identifier: Apache-2.0
#include "policy.h"

#include "methodfamily.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace gmailquota {

namespace {

QJsonObject limitsOf(const QJsonObject &section, const ProjectQuota &quota)
{
    return {
        {u"account_capacity"_s, quota.accountCapacity},
        {u"account_refill_per_minute"_s, quota.accountRefill},
        {u"project_capacity"_s, quota.projectCapacity},
        {u"project_refill_per_minute"_s, quota.projectRefill},
        {u"published_account"_s, quota.publishedAccount},
        {u"published_project"_s, quota.publishedProject},
        {u"day_budget"_s, quota.dayBudget},
        {u"day_action"_s, quota.dayAction},
        {u"day_zone"_s, u"America/Los_Angeles"_s}, // Google's days begin there
        {u"slots"_s, quota.places},
        {u"bulk_reserve"_s, section["bulk_reserve"_L1]},
        {u"project_bulk_reserve"_s, section["project_bulk_reserve"_L1]},
        {u"key_ttl_ms"_s, section["key_ttl"_L1]},
        {u"send_slack_ms"_s, section["send_slack"_L1]},
        {u"fail_open"_s, section["fail_open"_L1]},
        {u"local_fallback"_s, section["local_fallback"_L1]},
        {u"enforce"_s, section["enforce"_L1]},
    };
}

} // namespace

QJsonObject policyOf(const QJsonObject &section, const ProjectQuota &quota)
{
    QJsonObject policy = limitsOf(section, quota);
    const CostTable::Dearest dearest = quota.costs.dearest();
    policy[u"largest_single_cost"_s] = dearest.cost;
    policy[u"dearest_method"_s] = dearest.method;
    policy[u"method_families"_s] = methodFamilies();
    for (const QString &key : {u"account_key"_s, u"account_key_file"_s})
        policy[key] = section[key];
    return policy;
}

QJsonObject describe(const Settings &settings, const QMap<QString, QStringList> &warnings)
{
    QJsonObject projects;
    QJsonObject sources;
    for (auto quota = settings.projects.begin(); quota != settings.projects.end(); ++quota) {
        QJsonObject project = limitsOf(settings.section, *quota);
        project[u"preset"_s] = quota->preset;
        project[u"warnings"_s] = QJsonArray::fromStringList(warnings.value(quota.key()));
        projects[quota.key()] = project;
        sources[quota.key()] = quota->sources;
    }
    QJsonObject described = settings.section;
    described[u"name"_s] = u"gmail"_s;
    described[u"projects"_s] = projects;
    QJsonObject all = settings.sources;
    all[u"projects"_s] = sources;
    described[u"sources"_s] = all;
    return described;
}

} // namespace gmailquota
