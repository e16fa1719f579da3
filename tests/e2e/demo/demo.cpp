// SPDX-License-Identifier: Apache-2.0
#include "demo/demo.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QUrl>

#include <chrono>

using namespace Qt::StringLiterals;

namespace tidekeeper::demo {

namespace {

// What the engine's configuration of the demo names.
const QString projectId = u"demo-project"_s;
const QString clientId = u"demo-client"_s;
const QString clientSecret = u"demo-secret"_s;
const QString topic = u"projects/demo-project/topics/gmail"_s;

// Within the hour, but not before the engine had a chance.
constexpr qint64 firstExpiryMs = 3 * 60'000;
constexpr qint64 lastExpiryMs = 60 * 60'000;
constexpr qsizetype importLines = 1'000; // that the engine takes at once

} // namespace

Demo::Demo(Options options, Print print)
    : m_options(std::move(options)), m_print(std::move(print)),
      m_engine(m_options.engine, m_options.engineToken), m_google(m_options.google)
{ }

QCoro::Task<Result<Outcome>> Demo::run()
{
    m_timer.start();
    const auto scene = co_await setScene();
    if (!scene)
        co_return fail(scene.error());
    const auto token = co_await accessToken(m_refreshToken);
    if (!token)
        co_return fail(token.error());
    m_print(u"Ten consumers share one account: 3 first syncs, 5 batches (lane bulk), 2 realtime."_s);
    startConsumers(*token);
    co_await watchProgress(m_options.seconds, false);
    co_await stopConsumers();
    co_await watchProgress(m_options.seconds + m_options.patienceSeconds, true);
    const Outcome outcome = co_await look();
    co_return outcome;
}

QCoro::Task<Result<>> Demo::setScene()
{
    const QJsonObject wanted{{u"count"_s, m_options.accounts},
                             {u"prefix"_s, u"demo"_s},
                             {u"project_id"_s, projectId},
                             {u"client_id"_s, clientId},
                             {u"client_secret"_s, clientSecret},
                             {u"topic"_s, topic},
                             {u"threads"_s, 200},
                             {u"watch_expires_in_ms"_s, firstExpiryMs},
                             {u"watch_expires_in_ms_last"_s, lastExpiryMs}};
    const JsonAnswer made = co_await m_google.post(u"/sim/accounts"_s, wanted);
    const QJsonArray accounts = made.body.value(u"accounts"_s).toArray();
    if (!made.good() || accounts.isEmpty())
        co_return fail(u"simulator"_s, u"The simulator made no accounts. "_s + made.sentence());
    m_account = accounts[0][u"email"].toString();
    m_refreshToken = accounts[0][u"refresh_token"].toString();
    const auto imported = co_await importAccounts(accounts);
    if (!imported)
        co_return fail(imported.error());
    m_print(
        u"%1 accounts are imported; their Gmail watches lapse in 3 to 60 minutes."_s.arg(accounts.size()));
    co_return Result<>();
}

QCoro::Task<Result<>> Demo::importAccounts(QJsonArray accounts)
{
    for (qsizetype from = 0; from < accounts.size(); from += importLines) {
        QByteArray lines;
        for (qsizetype i = from; i < std::min(from + importLines, accounts.size()); ++i)
            lines += QJsonDocument(accounts[i].toObject()).toJson(QJsonDocument::Compact) + '\n';
        const JsonAnswer answer =
            co_await m_engine.post(u"/api/v1/accounts/import"_s, lines, "application/x-ndjson");
        if (!answer.good())
            co_return fail(u"engine"_s, u"The engine did not import the accounts. "_s + answer.sentence());
        const QJsonArray errors = answer.body.value(u"errors"_s).toArray();
        if (!errors.isEmpty())
            co_return fail(u"engine"_s, u"The engine refused an account: "_s + errors[0][u"text"].toString());
    }
    co_return Result<>();
}

QCoro::Task<Result<QByteArray>> Demo::accessToken(QString refreshToken)
{
    const QString form = u"grant_type=refresh_token&client_id=%1&client_secret=%2&refresh_token=%3"_s.arg(
        clientId, clientSecret, QString::fromLatin1(QUrl::toPercentEncoding(refreshToken)));
    const JsonAnswer answer =
        co_await m_google.post(u"/token"_s, form.toLatin1(), "application/x-www-form-urlencoded");
    if (!answer.good())
        co_return fail(u"simulator"_s,
                       u"The simulator gave the consumers no access token. "_s + answer.sentence());
    co_return answer.body.value(u"access_token"_s).toString().toLatin1();
}

void Demo::startConsumers(const QByteArray &accessToken)
{
    using enum Consumer::Kind;
    const Places places{m_options.engine, m_options.engineToken, m_options.google, accessToken, m_account};
    for (const auto kind :
         {FirstSync, FirstSync, FirstSync, Batch, Batch, Batch, Batch, Batch, Realtime, Realtime}) {
        const auto seed = unsigned(m_consumers.size());
        m_consumers.push_back(std::make_unique<Consumer>(kind, seed, places, m_tally));
        m_working.push_back(m_consumers.back()->run());
    }
}

QCoro::Task<> Demo::stopConsumers()
{
    for (const auto &consumer : m_consumers)
        consumer->stop();
    for (auto &working : m_working)
        co_await working;
}

QCoro::Task<Outcome> Demo::look()
{
    const JsonAnswer state = co_await m_google.get(u"/sim/state"_s);
    co_return outcomeOf(state.body, projectId, m_account, m_tally);
}

/// A line every few seconds; meanwhile new mail comes in, so that the realtime consumers have something to do.
QCoro::Task<> Demo::watchProgress(qint64 untilSeconds, bool untilRenewed)
{
    while (m_timer.elapsed() < untilSeconds * 1'000) {
        const Outcome outcome = co_await look();
        m_print(outcome.progress(m_timer.elapsed() / 1'000));
        if (untilRenewed && outcome.renewed == outcome.accounts)
            co_return;
        for (int second = 0; second < m_options.reportEverySeconds; ++second) {
            const QJsonObject mail{{u"email"_s, m_account}, {u"project_id"_s, projectId}};
            co_await m_google.post(u"/sim/mail"_s, mail);
            co_await QCoro::sleepFor(std::chrono::seconds(1));
        }
    }
}

} // namespace tidekeeper::demo
