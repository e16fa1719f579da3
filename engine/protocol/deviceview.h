// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QList>
#include <QtCore/QString>

// An account's devices as they travel over the API: without their push tokens, which nobody gets back.
namespace tidekeeper::protocol {

struct DeviceView {
    QString id;
    QString platform;
    QString language;
    qint64 lastSeenAt = 0; ///< epoch ms UTC
};

QJsonObject toJson(const DeviceView &device);
QJsonObject toJson(const QList<DeviceView> &devices); ///< {"devices": […]}

} // namespace tidekeeper::protocol
