// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/call.h"

#include <QtCore/QObject>
#include <QtNetwork/QHostAddress>

#include <functional>

namespace tidekeeper::googlesim {

/// Brings HTTP requests to a handler by libmicrohttpd, in the event loop of its thread. It stands apart from the
/// engine's server because it must do what a good server never does: keep silent, and cut an answer short.
class HttpFront : public QObject {
    Q_OBJECT

public:
    using Handler = std::function<Answer(const Call &)>;

    explicit HttpFront(Handler handler, QObject *parent = nullptr);
    ~HttpFront() override;

    /// Port 0 takes any free one. The answer is a sentence of what went wrong; empty when it listens.
    QString listen(const QHostAddress &address, quint16 port);
    QString url() const; ///< "http://127.0.0.1:8080"

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace tidekeeper::googlesim
