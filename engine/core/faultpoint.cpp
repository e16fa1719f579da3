// SPDX-License-Identifier: Apache-2.0
#include "core/faultpoint.h"

#ifdef TIDEKEEPER_FAULT_POINTS

#include <QtCore/QByteArrayList>
#include <QtCore/QtGlobal>

#include <atomic>
#include <csignal>
#include <list>

#include <unistd.h>

namespace tidekeeper::core {

namespace {

struct Armed {
    Armed(QByteArray point, int passages, int send) : name(std::move(point)), left(passages), signal(send) { }

    const QByteArray name;
    std::atomic<int> left; ///< passages until it strikes
    const int signal;
};

/// A mistake in the variable ends the program: a test that arms nothing would pass for the wrong reason.
std::list<Armed> armedPoints()
{
    std::list<Armed> points;
    const QByteArray variable = qgetenv("TIDEKEEPER_FAULT");
    for (const QByteArray &one : variable.isEmpty() ? QByteArrayList() : variable.split(',')) {
        const QByteArrayList parts = one.split(':');
        const int passages = parts.size() == 3 ? parts[1].toInt() : 0;
        if (passages < 1 || (parts[2] != "kill" && parts[2] != "stop"))
            qFatal("TIDEKEEPER_FAULT wants name:passage:kill or name:passage:stop, not \"%s\".",
                   one.constData());
        points.emplace_back(parts[0], passages, parts[2] == "kill" ? SIGKILL : SIGSTOP);
    }
    return points;
}

struct Calendar {
    std::int64_t startMs = 0;
    std::int64_t speed = 1;
};

Calendar givenCalendar()
{
    const QByteArray variable = qgetenv("TIDEKEEPER_CLOCK");
    if (variable.isEmpty())
        return {};
    const QByteArrayList parts = variable.split(':');
    const Calendar calendar{parts[0].toLongLong(), parts.value(1).toLongLong()};
    if (parts.size() != 2 || calendar.startMs < 1 || calendar.speed < 1)
        qFatal("TIDEKEEPER_CLOCK wants epoch milliseconds and a whole factor, START:SPEED, not \"%s\".",
               variable.constData());
    return calendar;
}

} // namespace

void passFaultPoint(std::string_view name)
{
    static std::list<Armed> points = armedPoints();
    for (Armed &point : points) {
        if (std::string_view(point.name.constData(), size_t(point.name.size())) == name && --point.left == 0)
            ::kill(::getpid(), point.signal);
    }
}

std::int64_t calendarMs(std::int64_t realMs)
{
    static const Calendar calendar = givenCalendar();
    return realMs <= calendar.startMs ? realMs
                                      : calendar.startMs + (realMs - calendar.startMs) * calendar.speed;
}

} // namespace tidekeeper::core

#endif
