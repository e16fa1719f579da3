// SPDX-License-Identifier: Apache-2.0
#include "app/eventbus.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

EventBus::EventBus(const Clock &clock, QObject *parent) : QObject(parent), m_clock(clock) { }

void EventBus::publish(const QString &type, const QJsonObject &event)
{
    QJsonObject complete = event;
    complete.insert("type"_L1, type);
    complete.insert("at"_L1, m_clock.nowMs());
    QMetaObject::invokeMethod(
        this, [this, complete] { dispatch(complete); }, Qt::QueuedConnection);
}

void EventBus::subscribe(const QString &prefix, EventSink *sink)
{
    m_sinks.append({prefix, sink});
}

void EventBus::dispatch(QJsonObject event)
{
    event.insert("seq"_L1, ++m_seq);
    const QString type = event.value("type"_L1).toString();
    // A sink may subscribe another one while it is called.
    const auto sinks = m_sinks;
    for (const auto &[prefix, sink] : sinks) {
        if (type.startsWith(prefix))
            sink->onEvent(event);
    }
    Q_EMIT published(event);
}

} // namespace tidekeeper::app
