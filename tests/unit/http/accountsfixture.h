// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/accountscontroller.h"
#include "http/accountstatescontroller.h"
#include "http/devicescontroller.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtCore/QJsonDocument>

namespace tidekeeper::test {

/// The routes of accounts and their devices on a real database, called without a socket.
class AccountsFixture {
public:
    static constexpr qint64 windowMs = 6 * 86'400'000LL;

    struct Answer {
        int status = 0;
        QJsonObject json;
        QByteArray body;

        QString code() const { return json.value(QStringLiteral("code")).toString(); }
        QString field() const { return json.value(QStringLiteral("field")).toString(); }
        QString detail() const { return json.value(QStringLiteral("detail")).toString(); }
    };

    /// path without "/api/v1/accounts", percent-encoding and query included.
    Answer call(http::Method method, const QString &path, const QByteArray &body = {});

    qint64 now() const { return clock.nowMs(); }

    FakeClock clock;
    TestDatabase database;
    store::AccountStore accounts{database.database()};
    store::DeviceStore devices{database.database()};
    oauth::Sealing sealing{QByteArray(oauth::Sealing::keyBytes, 'k')};
    store::Journal journal{database.database()};
    int changes = 0; ///< how often the renewal would have been told

protected:
    http::Router m_router;
    http::Audit m_audit{journal, clock};

private:
    http::AccountsController m_controller{
        m_router,
        accounts,
        sealing,
        clock,
        {{{QStringLiteral("default"), {QStringLiteral("mobile")}}, {QStringLiteral("second"), {}}}, windowMs},
        [this] { ++changes; }};
    http::AccountStatesController m_states{m_router, accounts, m_audit,
                                           clock,    windowMs, [this] { ++changes; }};
    http::DevicesController m_devicesController{m_router, devices, sealing, clock};
};

} // namespace tidekeeper::test
