// SPDX-License-Identifier: Apache-2.0
#include "decide/settings.h"
#include "decide/watchrequest.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace watchrenewal;

class TestWatchRequest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void topic_data();
    void topic();
    void body_data();
    void body();
    void settings_data();
    void settings();
    void windowOfALifetimeIsRefused();
};

void TestWatchRequest::topic_data()
{
    QTest::addColumn<QString>("own");
    QTest::addColumn<QString>("project");
    QTest::addColumn<QString>("expected");
    QTest::newRow("its own") << u"projects/p/topics/own"_s << u"projects/p/topics/t"_s
                             << u"projects/p/topics/own"_s;
    QTest::newRow("the project's") << QString() << u"projects/p/topics/t"_s << u"projects/p/topics/t"_s;
    QTest::newRow("none") << QString() << QString() << QString();
}

void TestWatchRequest::topic()
{
    QFETCH(QString, own);
    QFETCH(QString, project);
    QTEST(topicOf({{u"data"_s, QJsonObject{{u"topic"_s, own}}}}, project), "expected");
}

void TestWatchRequest::body_data()
{
    QTest::addColumn<QJsonObject>("data");
    QTest::addColumn<QJsonObject>("expected");
    const QJsonObject plain{{u"topicName"_s, u"t"_s}};
    QJsonObject filtered = plain;
    filtered.insert(u"labelIds"_s, QJsonArray{u"INBOX"_s, u"Label_7"_s});
    QJsonObject excluding = filtered;
    excluding.insert(u"labelFilterBehavior"_s, u"EXCLUDE"_s);
    const QJsonArray labels{u"INBOX"_s, u"Label_7"_s};
    QTest::newRow("whole mailbox") << QJsonObject{} << plain;
    QTest::newRow("no labels") << QJsonObject{{u"label_ids"_s, QJsonArray{}},
                                              {u"label_filter_behavior"_s, u"include"_s}}
                               << plain;
    QTest::newRow("labels") << QJsonObject{{u"label_ids"_s, labels}} << filtered;
    QTest::newRow("labels and behaviour")
        << QJsonObject{{u"label_ids"_s, labels}, {u"label_filter_behavior"_s, u"exclude"_s}} << excluding;
    QTest::newRow("what is not Gmail's stays here") << QJsonObject{{u"history_id"_s, u"42"_s}} << plain;
}

void TestWatchRequest::body()
{
    QFETCH(QJsonObject, data);
    QTEST(watchBody({{u"data"_s, data}}, u"t"_s), "expected");
}

void TestWatchRequest::settings_data()
{
    QTest::addColumn<QJsonObject>("section");
    QTest::addColumn<qint64>("windowDays");
    QTest::addColumn<int>("batchSize");
    QTest::addColumn<QString>("cron");
    QTest::newRow("nothing written") << QJsonObject{} << qint64(6) << 500 << QString();
    QTest::newRow("conservative") << QJsonObject{{u"preset"_s, u"conservative"_s}} << qint64(1) << 50
                                  << u"0 * * * *"_s;
    QTest::newRow("what is written wins") << QJsonObject{{u"preset"_s, u"conservative"_s},
                                                         {u"window"_s, 2 * 86'400'000},
                                                         {u"batch_size"_s, 7},
                                                         {u"cron"_s, u"*/5 * * * *"_s}}
                                          << qint64(2) << 7 << u"*/5 * * * *"_s;
}

void TestWatchRequest::settings()
{
    QFETCH(QJsonObject, section);
    QFETCH(qint64, windowDays);
    Settings settings;
    QVERIFY(settingsFrom(section, &settings).ok());
    QCOMPARE(settings.windowMs, windowDays * 86'400'000);
    QTEST(settings.batchSize, "batchSize");
    QTEST(settings.cron, "cron");
    QCOMPARE(settings.mode, u"renew"_s);
}

void TestWatchRequest::windowOfALifetimeIsRefused()
{
    Settings settings;
    const tidekeeper::Status status = settingsFrom({{u"window"_s, 7 * 86'400'000}}, &settings);
    QCOMPARE(status.code, u"bad_configuration"_s);
    QCOMPARE(status.details.value("field"_L1).toString(), u"window"_s);
}

QTEST_APPLESS_MAIN(TestWatchRequest)
#include "tst_watchrequest.moc"
