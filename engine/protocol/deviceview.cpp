// SPDX-License-Identifier: Apache-2.0
#include "protocol/deviceview.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::protocol {

QJsonObject toJson(const DeviceView &device)
{
    return {{u"id"_s, device.id},
            {u"platform"_s, device.platform},
            {u"language"_s, device.language},
            {u"last_seen_at"_s, device.lastSeenAt}};
}

QJsonObject toJson(const QList<DeviceView> &devices)
{
    QJsonArray array;
    for (const DeviceView &device : devices)
        array.append(toJson(device));
    return {{u"devices"_s, array}};
}

} // namespace tidekeeper::protocol
