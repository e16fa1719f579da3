// SPDX-License-Identifier: Apache-2.0
// Each verb: what it asks the engine, and what it shows of the answer.
#include "program.h"
#include "support/localhttp.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QTemporaryFile>
#include <QtTest/QTest>

using namespace tidekeeper::test;
using namespace Qt::StringLiterals;

namespace {

QJsonObject parsed(const QByteArray &json)
{
    return QJsonDocument::fromJson(json).object();
}

const QByteArray accountJson = R"({
    "id": "7", "email": "kim@example.com", "project": "default", "client": "default", "state": "active", "band": "late",
    "grant_kind": "stored", "has_refresh_token": true, "watch_expires_at": 4102444800000, "history_id": "9007199254740993",
    "subscriptions": [{"id": "7/gmail", "provider": "gmail", "expires_at": 4102444800000, "attempts": 3,
                       "deferrals": 1, "error": {"class": "transient", "code": "http_503", "text": "Busy.", "at": 1}}]})";

QByteArray revokedAccount()
{
    QJsonObject account = parsed(accountJson);
    account[u"state"_s] = u"needs_reauth"_s;
    account[u"state_reason"_s] = u"invalid_grant"_s;
    account[u"has_refresh_token"_s] = false;
    account[u"next_target_at"_s] = 1;
    account[u"next_attempt_at"_s] = 1;
    return QJsonDocument(account).toJson();
}

} // namespace

class TestCliVerbs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void asksAndShows_data();
    void asksAndShows();
    void listsAllPages();
    void addsAnAccount();
    void goesOnAfterARefusal();

private:
    Run run(LocalHttp &http, const QStringList &arguments) const
    {
        return runProgram(QStringList{u"--url"_s, http.url()} + arguments);
    }
};

void TestCliVerbs::asksAndShows_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QByteArray>("answer");
    QTest::addColumn<QString>("asks"); ///< method, path and body
    QTest::addColumn<QStringList>("lines");
    const auto row = [](const char *name, const QString &arguments, const QByteArray &answer,
                        const QString &asks, const QStringList &lines) {
        QTest::newRow(name) << arguments << answer << asks << lines;
    };

    const QString askedToShow = u"GET /api/v1/accounts/7\nGET /api/v1/accounts/7/explain\n"
                                "GET /api/v1/accounts/7/timeline?limit=5"_s;
    row("accounts show", u"accounts show 7"_s, accountJson, askedToShow,
        {u"E-mail kim@example.com"_s, u"Band late"_s, u"History id 9007199254740993"_s,
         u"Attempts 3 failed, 1 put off since the last success"_s, u"Last success never"_s});
    row("accounts show, renewed", u"accounts show 7"_s, accountJson, askedToShow,
        {u"Grant stored"_s, u"Next renewal never"_s});
    row("accounts show, revoked", u"accounts show 7"_s, revokedAccount(), askedToShow,
        {u"State needs_reauth: invalid_grant"_s, u"Next renewal none while it is needs_reauth"_s,
         u"Grant gone: its refresh token no longer works and is destroyed. Its owner connects the mailbox "
         u"again; "
         u"then give the new one with accounts add --refresh-token-file."_s});
    row("accounts list",
        u"accounts list --band late --state active --expiring-within 24h -q a+b@x.org -n 5"_s,
        "{\"accounts\": [" + accountJson + "], \"total\": 1200, \"next_cursor\": \"\"}",
        u"GET /api/v1/accounts?band=late&state=active&expiring_within=24h&q=a%2Bb%40x.org&limit=5"_s,
        {u"1 of 1,200 accounts"_s});
    row("accounts pause", u"accounts pause 7"_s, accountJson, u"POST /api/v1/accounts/7/pause"_s,
        {u"7: paused"_s});
    row("accounts resume", u"accounts resume 7"_s, accountJson, u"POST /api/v1/accounts/7/resume"_s,
        {u"7: active"_s});
    row("accounts rm", u"accounts rm 7"_s, accountJson, u"DELETE /api/v1/accounts/7"_s, {u"7: leaving"_s});
    row("accounts renew", u"accounts renew 7"_s, R"({"account": "7", "job": "1", "result": "added"})",
        u"POST /api/v1/accounts/7/renew"_s, {u"7: queued for renewal"_s});
    row("accounts renew, chosen", u"accounts renew --band critical"_s, R"({"matched": 12, "enqueued": 11})",
        u"POST /api/v1/accounts/renew {\"filter\":{\"band\":\"critical\"},\"limit\":5000}"_s,
        {u"12 accounts match, 11 queued for renewal"_s});
    row("accounts renew, dry", u"accounts renew --expiring-within 2d --dry-run"_s,
        R"({"matched": 12, "estimate_ms": 120000, "dry_run": true})",
        u"POST /api/v1/accounts/renew {\"dry_run\":true,\"filter\":{\"expiring_within\":\"2d\"}}"_s,
        {u"12 accounts match, to renew them takes 2 min or more (dry run: none was queued)"_s});
    row("limiter show", u"limiter show"_s,
        R"({"name": "gmail", "enforce": true, "fail_open": false, "send_slack": 2500, "bulk_reserve": 0.5,
            "projects": {"default": {"preset": "gmail-2026", "account_capacity": 360, "day_action": "warn",
                                     "warnings": ["Too much."]}},
            "sources": {"enforce": "default", "fail_open": "operator", "send_slack": "file", "bulk_reserve": "default",
                        "projects": {"default": {"account_capacity": "preset", "day_action": "file"}}},
            "overrides": [{"account": "kim@example.com", "project": "default", "account_capacity": 1000,
                           "account_refill_per_minute": 5450, "bulk_reserve": 0.25, "slots": 3, "warnings": ["Wide."]}],
            "warnings": ["Shadow."]})",
        u"GET /api/v1/limiters/gmail"_s,
        {u"enforce on default"_s, u"fail_open off operator"_s, u"bulk_reserve 0.5 default"_s,
         u"projects.default.preset gmail-2026 –"_s, u"projects.default.account_capacity 360 preset"_s,
         u"projects.default.day_action warn file"_s, u"kim@example.com default 1,000 5,450 0.25 3"_s,
         u"Warning: Shadow."_s, u"Warning: Too much."_s, u"Warning: kim@example.com: Wide."_s});
    row("buckets", u"buckets -q kim -n 3"_s,
        R"({"now": 1000, "projects": [{"project": "default", "level": 36000, "capacity": 72000, "pace": 0.7,
                "frozen_until": 61000, "day": {"units": 1200, "last_24h": 3400, "forecast": null, "budget": 80000000},
                "booked": {"warning": "Too much."},
                "callers": [{"caller": "import", "lane": "bulk", "units": 1500, "calls": 30},
                            {"caller": "", "lane": "realtime", "units": 40, "calls": 1}]}],
            "buckets": [{"account": "kim@example.com", "project": "default", "level": -40, "capacity": 360, "pace": 1,
                "frozen_until": 900, "probe": true, "held": 2, "override": true,
                "frozen_families": [{"family": "mail_sending", "until": 11000}],
                "lanes": {"bulk": {"units": 1234, "calls": 30}}}], "total": 9, "complete": false})",
        u"GET /api/v1/limiters/gmail/buckets?limit=3&q=kim"_s,
        {u"default 36,000 72,000 █████░░░░░ 50 % 70 % in 1 min 1,200 3,400 – 80,000,000"_s,
         u"Warning: Project \"default\": Too much."_s, u"import bulk 1,500 30"_s, u"(no tag) realtime 40 1"_s,
         u"kim@example.com default -40 360* ░░░░░░░░░░ -11 % 100 % probe is out, mail_sending in 10 s 0 1,234 2"_s,
         u"1 of 9 accounts, the most drained first (not all were searched)"_s});
    row("buckets of one account", u"buckets --account kim+x@example.com --project other"_s,
        R"({"now": 1000, "account": "kim+x@example.com", "project": "other", "level": 360, "capacity": 360,
            "refill_per_minute": 5450, "pace": 1, "frozen_until": null, "frozen_families": [], "held": 0,
            "lanes": {"realtime": {"units": 12, "calls": 3}},
            "uses": [{"caller": "sync", "lane": "realtime", "units": 12, "calls": 3}]})",
        u"GET /api/v1/limiters/gmail/buckets/kim%2Bx%40example.com?project=other"_s,
        {u"kim+x@example.com other 360 360 ██████████ 100 % 100 % – 12 0 0"_s, u"sync realtime 12 3"_s});
    row("plugins", u"plugins"_s,
        R"({"plugins": [{"id": "gmail-quota", "name": "Gmail quota", "version": "1.0.0", "state": "running"},
                        {"id": "old", "name": "Old", "version": "0.9.0", "state": "failed", "reason": "sdk_too_new",
                         "text": "It needs SDK 1.4.", "remedy": "Update the engine."}]})",
        u"GET /api/v1/plugins"_s,
        {u"gmail-quota 1.0.0 running Gmail quota"_s, u"old 0.9.0 failed sdk_too_new Old"_s,
         u"old: It needs SDK 1.4. Update the engine."_s});
}

void TestCliVerbs::asksAndShows()
{
    QFETCH(QString, arguments);
    QFETCH(QByteArray, answer);
    QFETCH(QStringList, lines);
    QVERIFY(!parsed(answer).isEmpty() || answer == "{}");
    LocalHttp http([&answer](const LocalHttp::Request &) { return LocalHttp::answer(200, answer); });

    const Run people = run(http, arguments.split(u' '));
    QVERIFY2(people.exitCode == 0, qPrintable(people.err));
    for (const QString &line : lines)
        QVERIFY2(people.hasLine(line), qPrintable(line + u"\nis not in\n"_s + people.out));
    QStringList asked;
    for (const LocalHttp::Request &request : http.requests())
        asked.append(QString::fromUtf8(request.method + ' ' + request.path
                                       + (request.body.isEmpty() ? "" : " " + request.body)));
    QTEST(asked.join(u'\n'), "asks");

    const Run programs = run(http, arguments.split(u' ') + QStringList{u"--json"_s});
    QCOMPARE(programs.exitCode, 0);
    QCOMPARE(programs.out.count(u'\n'), 1);
    QVERIFY(!QJsonDocument::fromJson(programs.out.toUtf8()).isNull());
}

void TestCliVerbs::listsAllPages()
{
    LocalHttp http([](const LocalHttp::Request &request) {
        QJsonArray rows;
        for (int i = 0; i < 1000; ++i)
            rows.append(QJsonObject{{u"id"_s, QString::number(i)}});
        const bool more = !request.path.contains("cursor=c%2B2");
        const QString cursor = request.path.contains("cursor=") ? u"c+2"_s : u"c+1"_s;
        return LocalHttp::answer(200,
                                 QJsonDocument(QJsonObject{{u"accounts"_s, more ? rows : QJsonArray()},
                                                           {u"total"_s, 2000},
                                                           {u"next_cursor"_s, more ? cursor : QString()}})
                                     .toJson());
    });
    const Run all = run(http, {u"accounts"_s, u"list"_s, u"-n"_s, u"5000"_s, u"--json"_s});
    QCOMPARE(all.json()[u"accounts"_s].toArray().size(), 2000);
    QCOMPARE(http.requests().size(), 3);
    QVERIFY(http.requests()[1].path.contains("cursor=c%2B1"));
    QCOMPARE(all.json()[u"next_cursor"_s].toString(), QString());
}

void TestCliVerbs::addsAnAccount()
{
    QTemporaryFile token;
    QVERIFY(token.open());
    token.write("1//secret\n");
    token.close();
    LocalHttp http([](const LocalHttp::Request &) { return LocalHttp::answer(201, accountJson); });
    const Run run = this->run(http,
                              {u"accounts"_s, u"add"_s, u"7"_s, u"--email"_s, u"kim@example.com"_s,
                               u"--refresh-token-file"_s, token.fileName(), u"--history-id"_s,
                               u"9007199254740993"_s, u"--watch-expires-at"_s, u"4102444800000"_s});
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    QCOMPARE(http.requests().first().method, "PUT");
    QCOMPARE(parsed(http.requests().first().body),
             (QJsonObject{{u"email"_s, u"kim@example.com"_s},
                          {u"refresh_token"_s, u"1//secret"_s},
                          {u"history_id"_s, u"9007199254740993"_s},
                          {u"watch_expires_at"_s, qint64(4102444800000)}}));
    QVERIFY(!run.out.contains(u"secret"_s));
}

void TestCliVerbs::goesOnAfterARefusal()
{
    LocalHttp http([](const LocalHttp::Request &request) {
        return request.path.contains("/2/")
            ? LocalHttp::answer(404, R"({"code": "not_found", "detail": "No such."})")
            : LocalHttp::answer(200, accountJson);
    });
    const Run run = this->run(http, {u"accounts"_s, u"pause"_s, u"1"_s, u"2"_s, u"3"_s});
    QCOMPARE(run.exitCode, 1);
    QCOMPARE(run.out, u"1: paused\n3: paused\n"_s);
    QCOMPARE(run.err, u"tidekeeper: 2: No such.\n"_s);
}

QTEST_GUILESS_MAIN(TestCliVerbs)
#include "tst_cliverbs.moc"
