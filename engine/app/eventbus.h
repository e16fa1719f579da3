// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/services.h>

#include <QtCore/QList>
#include <QtCore/QObject>

#include <functional>

namespace tidekeeper::app {

/// What happens in the engine, told to plugins and to the engine's own parts.
class EventBus final : public QObject, public Events {
    Q_OBJECT

public:
    explicit EventBus(const Clock &clock, QObject *parent = nullptr);

    /// Adds "seq", "type" and "at", and hands the event out from the event loop of the main thread. [any]
    void publish(const QString &type, const QJsonObject &event) override;
    void subscribe(const QString &prefix, EventSink *sink) override;

Q_SIGNALS:
    void published(const QJsonObject &event);

private:
    void dispatch(QJsonObject event);

    const Clock &m_clock;
    qint64 m_seq = 0;
    QList<std::pair<QString, EventSink *>> m_sinks;
};

} // namespace tidekeeper::app
