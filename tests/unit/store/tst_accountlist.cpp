// SPDX-License-Identifier: Apache-2.0
#include "core/planner.h"
#include "store/accountstore.h"
#include "support/testdatabase.h"

#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using core::AccountState;
using store::AccountChange;
using store::AccountFilter;
using store::AccountPage;
using store::AccountRow;
using store::AccountStore;

namespace {

constexpr qint64 now = 1'800'000'000'000;
constexpr qint64 window = 6 * core::dayMs;

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

struct Seed {
    QString id;
    qint64 expiresAt;
    AccountState state = AccountState::Active;
    QString project = u"default"_s;
};

// One account of each band, then some in other states and projects.
const QList<Seed> seeds{
    {u"healthy"_s, now + 6 * core::dayMs},
    {u"delayed"_s, now + 4 * core::dayMs},
    {u"late"_s, now + 3 * core::dayMs},
    {u"critical"_s, now + core::hourMs},
    {u"expired"_s, now - core::hourMs},
    {u"none"_s, 0},
    {u"paused-late"_s, now + 3 * core::dayMs, AccountState::Paused},
    {u"reauth_expired"_s, now - core::dayMs, AccountState::NeedsReauth},
    {u"second%late"_s, now + 3 * core::dayMs, AccountState::Active, u"second"_s},
};

QStringList ids(const AccountPage &page)
{
    QStringList result;
    for (const AccountRow &row : page.rows)
        result.append(row.account.id);
    return result;
}

} // namespace

class AccountListTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void filters_data();
    void filters();
    void facetsCountUnderTheOtherFilters();
    void orders_data();
    void orders();
    void refused_data();
    void refused();
    void rowsCarryTheirSubscriptions();
    void pagesCoverEveryRowOnce_data();
    void pagesCoverEveryRowOnce();
    void pagesStayStableUnderChanges();
    void summaryCounts();

private:
    Result<AccountPage> list(const AccountFilter &filter) { return wait(m_store.list(filter, now, window)); }

    test::TestDatabase m_database;
    AccountStore m_store{m_database.database()};
};

void AccountListTest::initTestCase()
{
    for (const Seed &seed : seeds) {
        AccountChange change;
        change.email = seed.id.section(u'%', 0, 0) + u"@example.com"_s;
        change.project = seed.project;
        change.watchExpiresAt = seed.expiresAt;
        const qint64 generation = wait(m_store.put(seed.id, change, now))->row.account.generation;
        if (seed.state != AccountState::Active)
            QVERIFY(wait(m_store.setState(seed.id, seed.state, {}, generation, now)).has_value());
    }
}

void AccountListTest::filters_data()
{
    QTest::addColumn<AccountFilter>("filter");
    QTest::addColumn<QStringList>("expected"); // nearest expiry first, then by id

    const auto row = [](const char *name, auto set, const QStringList &expected) {
        AccountFilter filter;
        set(filter);
        QTest::newRow(name) << filter << expected;
    };
    using F = AccountFilter;
    row("all", [](F &) {},
        {u"none"_s, u"reauth_expired"_s, u"expired"_s, u"critical"_s, u"late"_s, u"paused-late"_s,
         u"second%late"_s, u"delayed"_s, u"healthy"_s});
    row("healthy", [](F &f) { f.band = u"healthy"_s; }, {u"healthy"_s});
    row("delayed", [](F &f) { f.band = u"delayed"_s; }, {u"delayed"_s});
    row("late", [](F &f) { f.band = u"late"_s; }, {u"late"_s, u"paused-late"_s, u"second%late"_s});
    row("critical", [](F &f) { f.band = u"critical"_s; }, {u"critical"_s});
    row("expired", [](F &f) { f.band = u"expired"_s; }, {u"reauth_expired"_s, u"expired"_s});
    row("none", [](F &f) { f.band = u"none"_s; }, {u"none"_s});
    row("paused", [](F &f) { f.state = u"paused"_s; }, {u"paused-late"_s});
    row("leaving: nobody", [](F &f) { f.state = u"leaving"_s; }, {});
    row("late and active", [](F &f) { f.band = u"late"_s, f.state = u"active"_s; },
        {u"late"_s, u"second%late"_s});
    row("project", [](F &f) { f.project = u"second"_s; }, {u"second%late"_s});
    row("within 24 h", [](F &f) { f.expiringWithinMs = core::dayMs; },
        {u"none"_s, u"reauth_expired"_s, u"expired"_s, u"critical"_s});
    row("within 0", [](F &f) { f.expiringWithinMs = 0; }, {u"none"_s, u"reauth_expired"_s, u"expired"_s});
    row("part of the id", [](F &f) { f.text = u"LATE"_s; }, {u"late"_s, u"paused-late"_s, u"second%late"_s});
    row("% is a letter", [](F &f) { f.text = u"%"_s; }, {u"second%late"_s});
    row("_ is a letter", [](F &f) { f.text = u"_"_s; }, {u"reauth_expired"_s});
    row("whole address", [](F &f) { f.text = u" Late@Example.COM"_s; }, {u"late"_s});
    row("part of an address", [](F &f) { f.text = u"@example.com"_s; }, {});
    row("quote", [](F &f) { f.text = u"' OR 1=1 --"_s; }, {});
}

void AccountListTest::filters()
{
    QFETCH(AccountFilter, filter);
    QFETCH(QStringList, expected);
    const Result<AccountPage> page = list(filter);
    QVERIFY2(page.has_value(), page ? "" : qPrintable(page.error().text));
    QCOMPARE(ids(*page), expected);
    QCOMPARE(page->total, expected.size());
    QVERIFY(page->nextCursor.isEmpty());
}

void AccountListTest::facetsCountUnderTheOtherFilters()
{
    AccountFilter filter;
    filter.band = u"late"_s;
    filter.state = u"active"_s;
    filter.limit = 1;
    const AccountPage page = *list(filter);
    QCOMPARE(page.total, 2);
    QCOMPARE(page.facets[u"band"_s].toObject(),
             QJsonObject({{u"healthy"_s, 1},
                          {u"delayed"_s, 1},
                          {u"late"_s, 2},
                          {u"critical"_s, 1},
                          {u"expired"_s, 1},
                          {u"none"_s, 1}}));
    QCOMPARE(page.facets[u"state"_s].toObject(),
             QJsonObject({{u"active"_s, 2},
                          {u"paused"_s, 1},
                          {u"needs_reauth"_s, 0},
                          {u"parked"_s, 0},
                          {u"leaving"_s, 0}}));
}

void AccountListTest::orders_data()
{
    QTest::addColumn<QString>("sort");
    QTest::addColumn<QStringList>("first");
    QTest::newRow("id") << u"id"_s << QStringList{u"critical"_s, u"delayed"_s, u"expired"_s};
    QTest::newRow("-id") << u"-id"_s << QStringList{u"second%late"_s, u"reauth_expired"_s, u"paused-late"_s};
    QTest::newRow("expires_at") << u"expires_at"_s
                                << QStringList{u"none"_s, u"reauth_expired"_s, u"expired"_s};
    QTest::newRow("-expires_at") << u"-expires_at"_s
                                 << QStringList{u"healthy"_s, u"delayed"_s, u"second%late"_s};
    QTest::newRow("email") << u"email"_s << QStringList{u"critical"_s, u"delayed"_s, u"expired"_s};
    QTest::newRow("-state") << u"-state"_s
                            << QStringList{u"paused-late"_s, u"reauth_expired"_s, u"second%late"_s};
}

void AccountListTest::orders()
{
    QFETCH(QString, sort);
    QFETCH(QStringList, first);
    AccountFilter filter;
    filter.sort = sort;
    filter.limit = static_cast<int>(first.size());
    QCOMPARE(ids(*list(filter)), first);
}

void AccountListTest::refused_data()
{
    QTest::addColumn<AccountFilter>("filter");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *name, const QString &field, auto set) {
        AccountFilter filter;
        set(filter);
        QTest::newRow(name) << filter << field;
    };
    using F = AccountFilter;
    row("band", u"band"_s, [](F &f) { f.band = u"Late"_s; });
    row("state", u"state"_s, [](F &f) { f.state = u"sleeping"_s; });
    row("sort", u"sort"_s, [](F &f) { f.sort = u"email; DROP TABLE accounts"_s; });
    row("limit 0", u"limit"_s, [](F &f) { f.limit = 0; });
    row("limit 1001", u"limit"_s, [](F &f) { f.limit = 1001; });
    row("cursor of nobody", u"cursor"_s, [](F &f) { f.cursor = u"!!"_s; });
    row("cursor that is JSON", u"cursor"_s, [](F &f) { f.cursor = u"WzEsMiwzXQ"_s; }); // [1,2,3]
    row("cursor with text for a number", u"cursor"_s,
        [](F &f) { f.cursor = QString::fromLatin1(QByteArray(R"(["expires_at","1","a"])").toBase64()); });
    row("cursor of another order", u"cursor"_s,
        [](F &f) { f.cursor = QString::fromLatin1(QByteArray(R"(["attempts",1,"a"])").toBase64()); });
}

void AccountListTest::refused()
{
    QFETCH(AccountFilter, filter);
    QFETCH(QString, field);
    const Result<AccountPage> page = list(filter);
    QVERIFY(!page.has_value());
    QCOMPARE(page.error().code, u"invalid_request"_s);
    QCOMPARE(page.error().details[u"field"_s].toString(), field);
}

void AccountListTest::rowsCarryTheirSubscriptions()
{
    const AccountPage page = *list({});
    QCOMPARE(page.rows.size(), seeds.size());
    for (const AccountRow &row : page.rows) {
        QCOMPARE(row.subscriptions.size(), 1);
        QCOMPARE(row.subscriptions[0].account, row.account.id);
    }
}

void AccountListTest::pagesCoverEveryRowOnce_data()
{
    QTest::addColumn<QString>("sort");
    for (const QString &name : store::accountSortNames()) {
        QTest::newRow(qPrintable(name)) << name;
        QTest::newRow(qPrintable(u'-' + name)) << u'-' + name;
    }
}

// Most keys here are ties: the id decides among them.
void AccountListTest::pagesCoverEveryRowOnce()
{
    QFETCH(QString, sort);
    AccountFilter filter;
    filter.sort = sort;
    filter.limit = 2;
    QStringList seen;
    int pages = 0;
    do {
        const AccountPage page = *list(filter);
        seen += ids(page);
        filter.cursor = page.nextCursor;
        QCOMPARE(page.total, seeds.size());
    } while (!filter.cursor.isEmpty() && ++pages < 20);
    QCOMPARE(seen.size(), seeds.size());
    QCOMPARE(QSet<QString>(seen.begin(), seen.end()).size(), seeds.size());
}

void AccountListTest::pagesStayStableUnderChanges()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    const auto put = [&](const QString &id, qint64 expiresAt) {
        AccountChange change;
        change.email = u"kim@example.com"_s;
        change.watchExpiresAt = expiresAt;
        QVERIFY(wait(store.put(id, change, now)).has_value());
    };
    for (int i = 0; i < 6; ++i)
        put(u"a%1"_s.arg(i), now + i / 2); // pairs with equal expiry
    AccountFilter filter;
    filter.limit = 3;
    const AccountPage first = *wait(store.list(filter, now, window));
    QCOMPARE(ids(first), QStringList({u"a0"_s, u"a1"_s, u"a2"_s}));

    put(u"a00"_s, now); // before the cursor: not shown twice, moves nothing
    put(u"a25"_s, now + 1); // just after it
    AccountChange leave;
    leave.state = AccountState::Leaving;
    QVERIFY(wait(store.patch(u"a2"_s, leave, now)).has_value());
    QVERIFY(wait(store.purge(u"a2"_s)).has_value()); // the cursor's own row
    filter.cursor = first.nextCursor;
    filter.limit = 10;
    QCOMPARE(ids(*wait(store.list(filter, now, window))), QStringList({u"a25"_s, u"a3"_s, u"a4"_s, u"a5"_s}));
}

void AccountListTest::summaryCounts()
{
    const QJsonObject summary = *wait(m_store.summary(now, window));
    QCOMPARE(summary[u"total"_s].toInteger(), seeds.size());
    QCOMPARE(summary[u"band"_s][u"late"_s].toInt(), 3);
    QCOMPARE(summary[u"active_band"_s][u"late"_s].toInt(), 2);
    QCOMPARE(summary[u"active_band"_s][u"expired"_s].toInt(), 1);
    QCOMPARE(summary[u"state"_s][u"needs_reauth"_s].toInt(), 1);
    QCOMPARE(summary[u"nearest_expiry"_s][u"account"_s].toString(), u"expired"_s);
    QCOMPARE(summary[u"nearest_expiry"_s][u"expires_at"_s].toInteger(), now - core::hourMs);
    QCOMPARE(summary[u"due"_s].toInt(),
             3); // critical, expired, none; the others are spread over the next day

    test::TestDatabase empty;
    const QJsonObject nothing = *wait(AccountStore(empty.database()).summary(now, window));
    QCOMPARE(nothing[u"total"_s].toInt(), 0);
    QVERIFY(nothing[u"nearest_expiry"_s].isNull());
}

QTEST_GUILESS_MAIN(AccountListTest)
#include "tst_accountlist.moc"
