// SPDX-License-Identifier: Apache-2.0
#include "cli/queuenames.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::cli {

Result<QStringList> queuesOf(Session &session, const std::string &named)
{
    if (!named.empty())
        return QStringList{text(named)};
    const Result<QJsonObject> answer = session.get(u"/api/v1/queues"_s);
    if (!answer)
        return fail(answer.error());
    QStringList names;
    for (const QJsonValue &queue : answer->value("queues"_L1).toArray())
        names.append(queue["name"_L1].toString());
    return names;
}

QString queuePath(const QString &queue, const QString &rest)
{
    return u"/api/v1/queues/"_s + segment(queue.toStdString()) + rest;
}

} // namespace tidekeeper::cli
