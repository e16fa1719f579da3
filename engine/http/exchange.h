// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/httpserver.h"

#include <microhttpd.h>

#include <memory>
#include <optional>

namespace tidekeeper::http {

/// One request on its way: collected from the wire, handled, answered. It outlives the connection while its
/// handler still runs, and the handler while its answer is still being written.
class Exchange : public std::enable_shared_from_this<Exchange> {
public:
    Exchange(Daemon &daemon, const char *target);

    bool isNew() const { return m_connection == nullptr; }
    /// Head has arrived: finds the route and who asks. What is refused here is answered after the body was read
    /// past, so that the connection can go on; true when it should rather be answered at once.
    bool admit(MHD_Connection *connection, const char *method, const Router &router,
               const Authenticator &authenticator, qint64 maxBodyBytes);
    /// More of the body; false when the sender shall be cut off.
    bool receive(const char *data, size_t size);
    /// Body is complete: calls the handler. Suspends the connection when the answer does not come at once.
    void handle();
    bool isAnswered() const { return m_response.has_value(); }
    MHD_Result sendAnswer(bool closeAfterwards);

    /// Lets a suspended connection go on, with an answer or, when the server closes, without.
    void resume();
    /// libmicrohttpd has let go of the connection.
    void detach() { m_connection = nullptr; }

private:
    static QCoro::Task<> run(std::shared_ptr<Exchange> exchange);
    void readHead();
    std::optional<Response> refusal(const char *method, const Router &router,
                                    const Authenticator &authenticator);
    void refuseBody();
    void finish(Response response);

    Daemon &m_daemon; ///< there as long as m_connection is
    QByteArray m_target; ///< as sent: path and query, percent-encoded
    Request m_request;
    const Handler *m_handler = nullptr;
    std::optional<Response> m_response;
    MHD_Connection *m_connection = nullptr;
    qint64 m_maxBodyBytes = 0;
    qint64 m_received = 0;
    bool m_suspended = false;
};

} // namespace tidekeeper::http
