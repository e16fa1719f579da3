// SPDX-License-Identifier: Apache-2.0
#include "decide/watchrequest.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace watchrenewal {

namespace {

QString ownTopic(const QJsonObject &subscription)
{
    return subscription.value("data"_L1).toObject().value("topic"_L1).toString();
}

} // namespace

bool hasOwnTopic(const QJsonObject &subscription)
{
    return !ownTopic(subscription).isEmpty();
}

QString topicOf(const QJsonObject &subscription, const QString &projectTopic)
{
    return hasOwnTopic(subscription) ? ownTopic(subscription) : projectTopic;
}

QJsonObject watchBody(const QJsonObject &subscription, const QString &topic)
{
    const QJsonObject data = subscription.value("data"_L1).toObject();
    QJsonObject body{{u"topicName"_s, topic}};
    const QJsonArray labels = data.value("label_ids"_L1).toArray();
    if (!labels.isEmpty())
        body.insert(u"labelIds"_s, labels);
    const QString behavior = data.value("label_filter_behavior"_L1).toString();
    if (!labels.isEmpty() && !behavior.isEmpty())
        body.insert(u"labelFilterBehavior"_s, behavior.toUpper());
    return body;
}

} // namespace watchrenewal
