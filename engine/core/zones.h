// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QByteArray>
#include <QtCore/QTimeZone>

namespace tidekeeper::core {

/// An IANA time zone seen as spans of constant offset. "Local seconds" are a wall clock read as if it were UTC.
/// Pure; any thread, one object per thread.
class Zone {
public:
    /// id: "Asia/Seoul"; empty means UTC. Failure: unknown_zone.
    static Result<Zone> find(const QByteArray &id);

    struct Span {
        qint64 beginS = 0; ///< first UTC second of the span
        qint64 endS = 0; ///< first UTC second after it
        qint64 offsetS = 0; ///< local − UTC
    };
    /// The span that contains this instant.
    Span spanAt(qint64 utcS) const;

    /// The first instant at which the wall clock shows localS; where it never does (a gap), the end of the gap.
    /// Never decreases as localS grows.
    qint64 instantOf(qint64 localS) const;

    /// The first local second whose instantOf() can lie after utcS.
    qint64 localAfter(qint64 utcS) const;

private:
    explicit Zone(QTimeZone zone) : m_zone(std::move(zone)) { }

    QTimeZone m_zone;
    mutable Span m_last; ///< the span asked for last; spans are long and questions come in order
};

} // namespace tidekeeper::core
