// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>

namespace tidekeeper::app {

/// One part of the engine as health shows it. ready: a load balancer may go on sending requests here although the
/// part is not ok.
inline QJsonObject part(const QString &name, bool ok, bool ready, const QString &code, const QString &text)
{
    return {{QStringLiteral("name"), name},
            {QStringLiteral("ok"), ok},
            {QStringLiteral("ready"), ready},
            {QStringLiteral("code"), code},
            {QStringLiteral("text"), text}};
}

inline QJsonObject sound(const QString &name, const QString &text)
{
    return part(name, true, true, {}, text);
}

} // namespace tidekeeper::app
