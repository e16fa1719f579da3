// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/simulator.h"

#include <QtCore/QJsonDocument>

namespace tidekeeper::googlesim {

/// A simulator on a clock that stands still, with one account, and short ways to call it.
struct SimBench {
    explicit SimBench(const QJsonObject &account = {})
    {
        sim.world.settings.latencyMs = 0;
        QJsonObject asked = account;
        if (!asked.contains(QStringLiteral("emails")))
            asked.insert(QStringLiteral("emails"), QJsonArray{QStringLiteral("a@example.com")});
        const QJsonObject made = control("accounts", asked);
        refreshToken = made.value(QStringLiteral("accounts"))[0][u"refresh_token"].toString();
        bearer = "Bearer " + newAccessToken().toLatin1();
    }

    Answer call(const QByteArray &method, const QString &target, const QByteArray &body = {},
                const QByteArray &contentType = "application/json")
    {
        Call request;
        request.method = method;
        request.path = target.section(u'?', 0, 0);
        request.query = QUrlQuery(target.section(u'?', 1));
        request.headers.insert("authorization", bearer);
        if (!body.isEmpty())
            request.headers.insert("content-type", contentType);
        request.body = body;
        return sim.handle(request);
    }
    Answer gmail(const QByteArray &method, const QString &target, const QJsonObject &body = {})
    {
        return call(method, QStringLiteral("/gmail/v1/users/me/") + target,
                    body.isEmpty() ? QByteArray() : Answer::json(body).body);
    }
    Answer token(const QByteArray &form)
    {
        return call("POST", QStringLiteral("/token"), form, "application/x-www-form-urlencoded");
    }
    QByteArray refreshForm() const
    {
        return "grant_type=refresh_token&client_id=sim-client&client_secret=sim-secret&refresh_token="
            + refreshToken.toLatin1().toPercentEncoding();
    }
    QString newAccessToken()
    {
        return json(token(refreshForm())).value(QStringLiteral("access_token")).toString();
    }

    /// POST /sim/{what}; the answer's body whatever its status.
    QJsonObject control(const QByteArray &what, const QJsonObject &body)
    {
        return json(
            call("POST", QStringLiteral("/sim/") + QString::fromLatin1(what), Answer::json(body).body));
    }
    QJsonObject account()
    {
        return json(call("GET", QStringLiteral("/sim/state")))
            .value(QStringLiteral("accounts"))[0]
            .toObject();
    }
    void advanceMs(qint64 ms) { sim.clock.advance(ms * 1000); }

    static QJsonObject json(const Answer &answer) { return QJsonDocument::fromJson(answer.body).object(); }

    Simulator sim{SimClock::Mode::Manual};
    QString refreshToken;
    QByteArray bearer;
};

/// The first error's reason of a Gmail body.
inline QString reasonOf(const Answer &answer)
{
    return SimBench::json(answer)[u"error"][u"errors"][0][u"reason"].toString();
}

inline QString messageOf(const Answer &answer)
{
    return SimBench::json(answer)[u"error"][u"message"].toString();
}

} // namespace tidekeeper::googlesim
