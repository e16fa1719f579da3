// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QMap>
#include <QtCore/QObject>
#include <QtCore/QStringList>

#include <functional>

namespace tidekeeper::pluginhost {

/// The services that the engine offers to plugins, by IID. Services outlive the host. Main thread.
class ServiceRegistry {
public:
    /// add<Clock>(&clock): T is the interface of <tidekeeper/services.h>, named by the caller.
    template<typename T>
    void add(std::type_identity_t<T> *service)
    {
        addPerPlugin<T>([service](const QString &) { return service; });
    }
    /// For a service that must know who asks: answers the one of this plugin, always the same.
    template<typename T>
    void addPerPlugin(std::function<std::type_identity_t<T> *(const QString &pluginId)> serviceOf)
    {
        m_services.insert(qobject_interface_iid<T *>(), [serviceOf](const QString &pluginId) {
            return static_cast<void *>(serviceOf(pluginId));
        });
    }

    /// The interface pointer to cast back to T *, or null.
    void *find(const QByteArray &iid, const QString &pluginId) const
    {
        const auto serviceOf = m_services.constFind(iid);
        return serviceOf == m_services.cend() ? nullptr : (*serviceOf)(pluginId);
    }
    QStringList iids() const
    {
        QStringList iids;
        for (const QByteArray &iid : m_services.keys())
            iids.append(QString::fromLatin1(iid));
        return iids;
    }

private:
    QMap<QByteArray, std::function<void *(const QString &pluginId)>> m_services;
};

} // namespace tidekeeper::pluginhost
