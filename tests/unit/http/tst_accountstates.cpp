// SPDX-License-Identifier: Apache-2.0
// Pause and resume of many accounts: who is chosen, what is changed, what is left alone and why.
#include "accountsfixture.h"

#include <QtCore/QJsonArray>
#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using http::Method;
using test::AccountsFixture;
using Answer = AccountsFixture::Answer;

namespace {

void add(AccountsFixture &engine, int count)
{
    for (int i = 0; i < count; ++i) {
        const QByteArray project = i % 2 == 0 ? "default" : "second";
        const Answer answer =
            engine.call(Method::Put, u"/a%1"_s.arg(i),
                        R"({"email":"kim@example.com","project":")" + project + R"(","refresh_token":"t"})");
        if (answer.status != 201)
            qFatal("not added");
    }
}

QSet<QString> idsIn(AccountsFixture &engine, const QString &state)
{
    QSet<QString> ids;
    const QJsonArray accounts =
        engine.call(Method::Get, u"?limit=1000&state="_s + state).json[u"accounts"_s].toArray();
    for (const QJsonValue &account : accounts)
        ids.insert(account[u"id"_s].toString());
    return ids;
}

void setState(AccountsFixture &engine, const QString &id, core::AccountState state)
{
    const store::AccountRow row = *QCoro::waitFor(engine.accounts.find(id));
    QVERIFY(
        QCoro::waitFor(engine.accounts.setState(id, state, u"test"_s, row.account.generation, engine.now()))
            .has_value());
}

} // namespace

class AccountStatesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void filterChooses();
    void dryRunOnlyCounts();
    void idsSayWhyOneIsSkipped();
    void sharesGrow();
    void worksInParts();
    void everyActionIsAudited();
    void refuses_data();
    void refuses();
};

void AccountStatesTest::filterChooses()
{
    AccountsFixture engine;
    add(engine, 10);
    engine.changes = 0;
    const Answer paused = engine.call(Method::Post, u"/pause"_s, R"({"filter":{"project":"second"}})");
    QCOMPARE(paused.status, 200);
    QCOMPARE(paused.json[u"matched"_s].toInt(), 5);
    QCOMPARE(paused.json[u"changed"_s].toInt(), 5);
    QCOMPARE(paused.json[u"skipped_count"_s].toInt(), 0);
    QCOMPARE(engine.changes, 1);
    QCOMPARE(idsIn(engine, u"paused"_s), (QSet<QString>{u"a1"_s, u"a3"_s, u"a5"_s, u"a7"_s, u"a9"_s}));
    QCOMPARE(QCoro::waitFor(engine.accounts.due(engine.now(), 99))->size(), 5);

    // Again: nobody is left, nothing changes.
    const Answer again = engine.call(Method::Post, u"/pause"_s, R"({"filter":{"project":"second"}})");
    QCOMPARE(again.json[u"matched"_s].toInt(), 0);
    QCOMPARE(engine.changes, 1);
    QCOMPARE(engine.call(Method::Post, u"/resume"_s, R"({"filter":{}})").json[u"changed"_s].toInt(), 5);
    QCOMPARE(QCoro::waitFor(engine.accounts.due(engine.now(), 99))->size(), 10);
}

void AccountStatesTest::dryRunOnlyCounts()
{
    AccountsFixture engine;
    add(engine, 10);
    engine.changes = 0;
    const Answer answer =
        engine.call(Method::Post, u"/pause"_s, R"({"filter":{"project":"second"},"dry_run":true})");
    QCOMPARE(answer.status, 200);
    QCOMPARE(answer.json[u"matched"_s].toInt(), 5);
    QCOMPARE(answer.json[u"dry_run"_s].toBool(), true);
    const Answer ids = engine.call(Method::Post, u"/pause"_s, R"({"ids":["a1","nobody"],"dry_run":true})");
    QCOMPARE(ids.json[u"matched"_s].toInt(), 1);
    QCOMPARE(ids.json[u"skipped"_s][0][u"id"_s].toString(), u"nobody"_s);
    QVERIFY(idsIn(engine, u"paused"_s).isEmpty());
    QCOMPARE(engine.changes, 0);
    QVERIFY(QCoro::waitFor(engine.journal.audits(0, 9))->isEmpty());
}

void AccountStatesTest::idsSayWhyOneIsSkipped()
{
    AccountsFixture engine;
    add(engine, 4);
    setState(engine, u"a2"_s, core::AccountState::Parked);
    engine.call(Method::Post, u"/a3/pause"_s);
    const Answer answer = engine.call(Method::Post, u"/pause"_s, R"({"ids":["a1","a1","a2","a3","nobody"]})");
    QCOMPARE(answer.json[u"matched"_s].toInt(), 3);
    QCOMPARE(answer.json[u"changed"_s].toInt(), 1); // a3 is paused already
    QCOMPARE(answer.json[u"skipped_count"_s].toInt(), 2);
    const QJsonArray skipped = answer.json[u"skipped"_s].toArray();
    QCOMPARE(skipped[0][u"id"_s].toString(), u"a2"_s);
    QVERIFY(skipped[0][u"reason"_s].toString().contains(u"parked"_s));
    QCOMPARE(skipped[1][u"id"_s].toString(), u"nobody"_s);
    QCOMPARE(idsIn(engine, u"paused"_s), (QSet<QString>{u"a1"_s, u"a3"_s}));
}

void AccountStatesTest::sharesGrow()
{
    AccountsFixture engine;
    add(engine, 400);
    engine.call(Method::Post, u"/pause"_s, R"({"filter":{}})");
    QSet<QString> before;
    for (const QByteArray share : {R"("10%")", "0.1", R"("50%")", R"("100%")"}) {
        const Answer answer =
            engine.call(Method::Post, u"/resume"_s, R"({"filter":{},"share":)" + share + '}');
        QCOMPARE(answer.status, 200);
        const QSet<QString> now = idsIn(engine, u"active"_s);
        QVERIFY(now.contains(before));
        QCOMPARE(answer.json[u"changed"_s].toInt(), int(now.size() - before.size()));
        if (share == R"("10%")")
            QVERIFY2(now.size() > 20 && now.size() < 60, qPrintable(QString::number(now.size())));
        if (share == "0.1") // the same part: nobody more
            QCOMPARE(now, before);
        if (share == R"("50%")")
            QVERIFY2(now.size() > 160 && now.size() < 240, qPrintable(QString::number(now.size())));
        before = now;
    }
    QCOMPARE(before.size(), 400);
}

void AccountStatesTest::worksInParts()
{
    AccountsFixture engine;
    add(engine, 25);
    QString cursor;
    int changed = 0;
    int parts = 0;
    do {
        const QJsonObject body{{u"filter"_s, QJsonObject()}, {u"limit"_s, 10}, {u"cursor"_s, cursor}};
        const Answer part = engine.call(Method::Post, u"/pause"_s, QJsonDocument(body).toJson());
        QCOMPARE(part.status, 200);
        QVERIFY(part.json[u"matched"_s].toInt() <= 10);
        changed += part.json[u"changed"_s].toInt();
        cursor = part.json[u"next_cursor"_s].toString();
        ++parts;
    } while (!cursor.isEmpty());
    QCOMPARE(changed, 25);
    QCOMPARE(parts, 3);
}

void AccountStatesTest::everyActionIsAudited()
{
    AccountsFixture engine;
    add(engine, 2);
    engine.call(Method::Post, u"/a1/pause"_s);
    engine.call(Method::Post, u"/resume"_s, R"({"filter":{},"share":1})");
    engine.call(Method::Delete, u"/a1"_s);
    const QList<store::AuditEntry> audits = *QCoro::waitFor(engine.journal.audits(0, 9));
    QCOMPARE(audits.size(), 3);
    QCOMPARE(audits[0].action, u"account.remove"_s);
    QCOMPARE(audits[1].action, u"account.resume"_s);
    QCOMPARE(audits[1].target, u"accounts"_s);
    QCOMPARE(audits[1].details[u"changed"_s].toInt(), 1);
    QCOMPARE(audits[2].action, u"account.pause"_s);
    QCOMPARE(audits[2].target, u"a1"_s);
}

void AccountStatesTest::refuses_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *name, const char *body, const QString &field) {
        QTest::newRow(name) << QByteArray(body) << field;
    };
    row("nobody chosen", "{}", u"filter"_s);
    row("no body", "", u"filter"_s);
    row("both ways", R"({"ids":["a1"],"filter":{}})", u"filter"_s);
    row("unknown field", R"({"filter":{},"shore":1})", u"shore"_s);
    row("unknown filter", R"({"filter":{"bond":"late"}})", u"bond"_s);
    row("unknown band", R"({"filter":{"band":"soon"}})", u"band"_s);
    row("a state that this does not change", R"({"filter":{"state":"active"}})", u"state"_s);
    row("no ids", R"({"ids":[]})", u"ids"_s);
    row("numbers as ids", R"({"ids":[1]})", u"ids"_s);
    row("share of nothing", R"({"filter":{},"share":0})", u"share"_s);
    row("share of more than all", R"({"filter":{},"share":"101%"})", u"share"_s);
    row("share in words", R"({"filter":{},"share":"some"})", u"share"_s);
    row("dry run in words", R"({"filter":{},"dry_run":"yes"})", u"dry_run"_s);
    row("limit of none", R"({"filter":{},"limit":0})", u"limit"_s);
    row("foreign cursor", R"({"filter":{},"cursor":"x"})", u"cursor"_s);
}

void AccountStatesTest::refuses()
{
    QFETCH(QByteArray, body);
    QFETCH(QString, field);
    AccountsFixture engine;
    add(engine, 1);
    engine.call(Method::Post, u"/a0/pause"_s);
    const Answer answer = engine.call(Method::Post, u"/resume"_s, body);
    QCOMPARE(answer.status, 422);
    QCOMPARE(answer.code(), u"invalid_request"_s);
    QCOMPARE(answer.field(), field);
    QVERIFY(!answer.detail().isEmpty());
    QCOMPARE(idsIn(engine, u"paused"_s).size(), 1);
}

QTEST_GUILESS_MAIN(AccountStatesTest)
#include "tst_accountstates.moc"
