// SPDX-License-Identifier: Apache-2.0
// The buckets of this process decide as the function in Redis does, to the millisecond and the milli-unit.
#include "limits/keys.h"
#include "limits/localbuckets.h"
#include "limits/quotalibrary.h"
#include "redis/functionlibrary.h"
#include "support/testredis.h"

#include <QtTest/QTest>

#include <random>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

namespace {

constexpr qint64 startUs = 1'800'000'000'000'000;
constexpr int steps = 3'000;
const Keys keys(u"gmail"_s, u"default"_s);

struct Random {
    std::mt19937_64 engine;

    qint64 pick(qint64 from, qint64 to) { return std::uniform_int_distribution<qint64>(from, to)(engine); }
};

Policy anyPolicy(Random &random)
{
    const auto scope = [&random](qint64 capacity) -> Policy::Scope {
        return {.capacity = capacity,
                .refillPerMinute = random.pick(1, 100'000),
                .reserveMilli = random.pick(0, capacity * 500)};
    };
    Policy policy;
    policy.account = scope(random.pick(2, 1'000));
    policy.project = scope(policy.account.capacity * random.pick(1, 5));
    policy.keyTtlMs = 1'000'000'000'000;
    return policy;
}

} // namespace

class TestLikeRedis : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_server.start());
        m_connection = std::make_unique<redis::RedisConnection>(*redis::Endpoint::fromUrl(m_server.url()));
        m_library =
            std::make_unique<redis::FunctionLibrary>(*m_connection, "tidekeeper_quota", libraryCode());
        m_connection->open();
        QVERIFY(QCoro::waitFor(m_connection->waitReady(10'000)));
        QVERIFY(QCoro::waitFor(m_library->ensureLoaded()));
    }

    void decidesAlike_data()
    {
        QTest::addColumn<quint64>("seed");
        for (quint64 seed = 1; seed <= 10; ++seed)
            QTest::addRow("seed %llu", static_cast<unsigned long long>(seed)) << seed;
    }

    void decidesAlike()
    {
        QFETCH(quint64, seed);
        Random random{std::mt19937_64(seed)};
        const Policy policy = anyPolicy(random);
        QCoro::waitFor(m_connection->command({"FLUSHALL"}));
        const Result<redis::Value> published =
            call("tidekeeper_publish_at_v1", {keys.policy(), keys.project()},
                 QByteArrayList{QByteArray::number(startUs)} + policy.arguments(startUs / 1000));
        QVERIFY2(published && !published->isError(), published ? published->text.constData() : "no answer");

        LocalBuckets local(policy);
        qint64 nowUs = startUs;
        for (int step = 0; step < steps; ++step) {
            nowUs += random.pick(0, 1) == 0 ? 0 : random.pick(0, 2'000'000);
            const QByteArray account = keys.account(QString::number(random.pick(1, 4)));
            const bool isBulk = random.pick(0, 2) == 0;
            const qint64 units = random.pick(0, policy.largestCost(isBulk ? u"bulk"_s : u"realtime"_s));
            const qint64 maxWaitMs = random.pick(0, 1) == 0 ? 0 : random.pick(0, 30'000);
            const Result<redis::Value> there =
                call("tidekeeper_acquire_at_v1", {account, keys.project(), keys.policy()},
                     {QByteArray::number(nowUs), QByteArray::number(units), isBulk ? "bulk" : "realtime",
                      QByteArray::number(maxWaitMs)});
            QVERIFY2(there && there->items.size() == 9, there ? there->text.constData() : "no answer");
            const QuotaAnswer here = local.acquire(account, {units * 1000, isBulk, maxWaitMs}, nowUs);
            compare(here, there->items, step);
            if (QTest::currentTestFailed())
                return;
        }
    }

private:
    Result<redis::Value> call(const QByteArray &function, const QByteArrayList &where,
                              const QByteArrayList &arguments)
    {
        return QCoro::waitFor(m_library->call(function, where, arguments, 5'000));
    }

    static void compare(const QuotaAnswer &here, const QList<redis::Value> &there, int step)
    {
        const auto text = [step](const QString &what) {
            return (what + u" of step %1"_s.arg(step)).toUtf8();
        };
        QVERIFY2(here.granted == (there[0].toInteger() == 1), text(u"verdict"_s));
        QVERIFY2(here.waitMs == there[1].toInteger(), text(u"wait"_s));
        QVERIFY2(here.retryAfterMs == there[2].toInteger(), text(u"retry time"_s));
        QCOMPARE(here.refusedBy.toLatin1(), there[3].text);
        QVERIFY2(here.accountLevel == there[4].toInteger(), text(u"account level"_s));
        QVERIFY2(here.projectLevel == there[6].toInteger(), text(u"project level"_s));
    }

    test::TestRedis m_server;
    std::unique_ptr<redis::RedisConnection> m_connection;
    std::unique_ptr<redis::FunctionLibrary> m_library;
};

QTEST_GUILESS_MAIN(TestLikeRedis)
#include "tst_likeredis.moc"
