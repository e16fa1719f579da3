// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/interfacecheck.h"

#include <tidekeeper/services.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

template<typename... Interfaces>
QStringList iidsOf()
{
    return {QString::fromLatin1(qobject_interface_iid<Interfaces *>())...};
}

bool implements(QObject &root, const QString &iid)
{
    return root.qt_metacast(iid.toLatin1().constData()) != nullptr;
}

} // namespace

void checkInterfaces(PluginRecord &record, QObject &root)
{
    const QString remedy = u"Its author corrects Q_INTERFACES or \"Provides\" and builds it again."_s;
    if (!implements(root, QLatin1StringView(TIDEKEEPER_PLUGIN_IID))) {
        record.fail(FailureReason::MissingInterface,
                    u"Its root object does not implement %1."_s.arg(QLatin1StringView(TIDEKEEPER_PLUGIN_IID)),
                    remedy);
        return;
    }
    for (const QString &iid : record.metadata.provides) {
        if (!implements(root, iid)) {
            record.fail(FailureReason::MissingInterface,
                        u"Its metadata promises %1, but its root object does not implement it."_s.arg(iid),
                        remedy);
        }
    }
    for (const QString &iid :
         iidsOf<SubscriptionProvider, RateLimiter, RateFeedback, LiveSettings, JobHandler, Notifier>()) {
        if (implements(root, iid) && !record.metadata.provides.contains(iid)) {
            record.fail(FailureReason::MissingInterface,
                        u"It implements %1, but \"Provides\" in its metadata does not list it."_s.arg(iid),
                        remedy);
        }
    }
}

QStringList serviceIids()
{
    return iidsOf<Clock, Scheduler, Queue, Accounts, Buckets, BucketFeedback, Limiters, Tokens, Http, Metrics,
                  Events>();
}

} // namespace tidekeeper::pluginhost
