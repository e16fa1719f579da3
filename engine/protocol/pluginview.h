// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QList>
#include <QtCore/QStringList>

// Plugins as they travel over the API. Reading is lenient, as for accounts.
namespace tidekeeper::protocol {

struct PluginDependencyView {
    QString id;
    QString version;
};

struct PluginView {
    QString id;
    QString name;
    QString version; ///< versions are empty when the metadata cannot be used
    QString sdkVersion;
    QString state; ///< found, resolved, loaded, initialized, running, stopping, stopped, disabled, failed
    QString reason; ///< of failed: wrong_iid, bad_metadata, …; else empty
    QString text; ///< a sentence: what happened
    QString remedy; ///< a sentence: what to do
    QStringList provides;
    QStringList needs;
    QList<PluginDependencyView> dependencies;
    QString file;
    QString description;
    QString license;
    bool enabled = false;
    qint64 lateAnswers = 0; ///< answers that came after nobody waited any more
};

QJsonObject toJson(const QList<PluginView> &plugins); ///< {"plugins": […]}
QList<PluginView> pluginsFrom(const QJsonObject &json);

} // namespace tidekeeper::protocol
