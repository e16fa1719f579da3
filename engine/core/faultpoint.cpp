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

} // namespace

void passFaultPoint(std::string_view name)
{
    static std::list<Armed> points = armedPoints();
    for (Armed &point : points) {
        if (std::string_view(point.name.constData(), size_t(point.name.size())) == name && --point.left == 0)
            ::kill(::getpid(), point.signal);
    }
}

} // namespace tidekeeper::core

#endif
