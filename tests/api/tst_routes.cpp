// SPDX-License-Identifier: Apache-2.0
#include "apidescription.h"
#include "app/api.h"

#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

/// The API description says what the engine serves, no more and no less.
class TestRoutes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void describedAsServed()
    {
        QTemporaryDir folder;
        const config::Config config = config::Config::load({}, {}).value();
        app::RedisParts redis(config.redis, folder.path());
        QVERIFY(QCoro::waitFor(redis.start()));
        app::StoreParts store(u"sqlite:"_s + folder.filePath(u"test.db"_s));
        QVERIFY(QCoro::waitFor(store.open(folder.filePath(u"sealing.key"_s), 1'800'000'000'000)));
        app::Work work(config, redis, store, u"engine"_s);
        http::Router router;
        const app::Api api(router, config, redis, store, work);

        const QStringList served = test::servedRoutes(router.routes());
        QVERIFY(served.size() > 20);
        const QStringList described =
            test::describedRoutes(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/resources/api/openapi.yaml"));
        const QStringList differences = test::differences(served, described);
        QVERIFY2(differences.isEmpty(), qPrintable(differences.join(u'\n')));
        QCoro::waitFor(work.stop());
        QCoro::waitFor(redis.stop());
    }
};

QTEST_GUILESS_MAIN(TestRoutes)
#include "tst_routes.moc"
