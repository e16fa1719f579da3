// SPDX-License-Identifier: Apache-2.0
#include "app/metricsregistry.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

class TestMetricsRegistry : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void text()
    {
        app::MetricsRegistry metrics;
        metrics.add(u"grants"_s, u"Calls granted."_s, {{u"lane"_s, u"bulk"_s}}, 2);
        metrics.add(u"grants"_s, u"Calls granted."_s, {{u"lane"_s, u"bulk"_s}}, 3);
        metrics.add(u"grants"_s, u"Calls granted."_s, {{u"lane"_s, u"realtime"_s}}, 1);
        metrics.set(u"queue_depth"_s, u"Jobs waiting."_s, {{u"queue"_s, u"renew"_s}}, 7);
        metrics.count(u"sent"_s, {{u"code"_s, 200}}, 4);
        metrics.observe(u"job_duration_seconds"_s, u"How long jobs ran."_s, {{u"queue"_s, u"renew"_s}}, 0.2);
        metrics.observe(u"job_duration_seconds"_s, u"How long jobs ran."_s, {{u"queue"_s, u"renew"_s}}, 4000);
        const QByteArray text = metrics.text();
        QVERIFY2(text.contains("# HELP tidekeeper_grants_total Calls granted."), text.constData());
        QVERIFY(text.contains("# TYPE tidekeeper_grants_total counter"));
        QVERIFY(text.contains("tidekeeper_grants_total{lane=\"bulk\"} 5"));
        QVERIFY(text.contains("tidekeeper_grants_total{lane=\"realtime\"} 1"));
        QVERIFY(text.contains("tidekeeper_queue_depth{queue=\"renew\"} 7"));
        QVERIFY(text.contains("# TYPE tidekeeper_job_duration_seconds histogram"));
        QVERIFY(text.contains("tidekeeper_job_duration_seconds_bucket{queue=\"renew\",le=\"0.1\"} 0"));
        QVERIFY(text.contains("tidekeeper_job_duration_seconds_bucket{queue=\"renew\",le=\"0.5\"} 1"));
        QVERIFY(text.contains("tidekeeper_job_duration_seconds_bucket{queue=\"renew\",le=\"900\"} 1"));
        QVERIFY(text.contains("tidekeeper_job_duration_seconds_count{queue=\"renew\"} 2"));
        QVERIFY(text.contains("tidekeeper_plugin_sent_total{code=\"200\"} 4"));
    }
};

QTEST_GUILESS_MAIN(TestMetricsRegistry)
#include "tst_metricsregistry.moc"
