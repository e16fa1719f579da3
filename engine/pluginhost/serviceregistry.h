// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QMap>
#include <QtCore/QObject>
#include <QtCore/QStringList>

namespace tidekeeper::pluginhost {

/// The services that the engine offers to plugins, by IID. Services outlive the host. Main thread.
class ServiceRegistry {
public:
    /// add<Clock>(&clock): T is the interface of <tidekeeper/services.h>, named by the caller.
    template<typename T>
    void add(std::type_identity_t<T> *service)
    {
        m_services.insert(qobject_interface_iid<T *>(), static_cast<void *>(service));
    }

    /// The interface pointer to cast back to T *, or null.
    void *find(const QByteArray &iid) const { return m_services.value(iid, nullptr); }
    QStringList iids() const
    {
        QStringList iids;
        for (const QByteArray &iid : m_services.keys())
            iids.append(QString::fromLatin1(iid));
        return iids;
    }

private:
    QMap<QByteArray, void *> m_services;
};

} // namespace tidekeeper::pluginhost
