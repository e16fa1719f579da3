// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QHash>
#include <QtCore/QJsonObject>
#include <QtCore/QList>
#include <QtCore/QString>
#include <QtCore/QUrlQuery>

#include <memory>
#include <utility>
#include <vector>

namespace tidekeeper::googlesim {

/// One HTTP request, or one inner request of a batch.
struct Call {
    QByteArray method; ///< "POST"
    QString path; ///< percent-encoded, as it came, without the query
    QUrlQuery query; ///< keys may repeat
    QHash<QByteArray, QByteArray> headers; ///< lower-case names
    QByteArray body;
};

/// What goes back, and how: late, cut short or never.
struct Answer {
    enum class Ending : quint8 { Whole, Cut, Silent };

    int status = 200;
    QByteArray contentType = QByteArrayLiteral("application/json; charset=UTF-8");
    QByteArray body;
    QList<std::pair<QByteArray, QByteArray>> headers;
    int delayMs = 0;
    Ending ending = Ending::Whole;
    /// Calls in flight that this answer ends; dropped right before the answer leaves, or when the caller hung up.
    std::vector<std::shared_ptr<const void>> inFlight;

    static Answer json(const QJsonObject &object, int status = 200);
    static Answer empty(int status = 204);
};

} // namespace tidekeeper::googlesim
