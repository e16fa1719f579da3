// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QHash>

#include <optional>
#include <vector>

namespace tidekeeper::googlesim {

/// Header lines up to the first blank line, and what follows it.
struct Part {
    QHash<QByteArray, QByteArray> headers; ///< lower-case names
    QByteArray body;
};

/// Lines may end with CR LF or LF alone; whatever stands before the first header line must be cut off by the caller.
Part splitPart(const QByteArray &text);

/// The parts of a multipart body, in their order; none when the boundary is missing from the content type.
std::vector<Part> splitMultipart(const QByteArray &contentType, const QByteArray &body);

} // namespace tidekeeper::googlesim
