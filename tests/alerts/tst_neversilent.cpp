// SPDX-License-Identifier: Apache-2.0
#include "alertrules.h"
#include "product.h"

#include <QCoro/QCoroTask>
#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QProcess>
#include <QtCore/QRegularExpression>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::Product;

namespace {

constexpr int patienceMs = 30'000;

QString metricsDocument()
{
    QFile file(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/resources/doc/metrics.md"));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

} // namespace

/// The real engine in the states that need a person: metrics, probes and `tidekeeper status` all say so, in the names
/// that the alert rules and the documentation go by.
class TestNeverSilent : public QObject {
    Q_OBJECT

private:
    /// GET /metrics; all names of it are kept for the last test.
    QString metrics()
    {
        net::HttpClient http;
        net::HttpRequest request;
        request.url = QUrl(m_product.engineUrl + u"/metrics"_s);
        request.headers.emplaceBack("Authorization", "Bearer " + m_product.adminToken);
        const auto answer = QCoro::waitFor(http.send(std::move(request)));
        m_metrics = answer ? QString::fromUtf8(answer->body) : QString();
        m_seen |= test::metricNames(m_metrics);
        return m_metrics;
    }
    bool shows(const QString &line) { return metrics().contains(u'\n' + line + u'\n'); }
    bool comesToShow(const QString &line)
    {
        return Product::eventually(patienceMs, [&] { return shows(line); });
    }
    /// The sentence of the part with this code; empty when there is none.
    QString sentence(const QString &path, const QString &code)
    {
        for (const QJsonValue part : m_product.engineGet(path).body["parts"_L1].toArray()) {
            if (part["code"_L1] == code)
                return part["text"_L1].toString();
        }
        return {};
    }
    /// What `tidekeeper status` prints; its exit code is in m_statusCode.
    QString status()
    {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(u"TIDEKEEPER_STATE_DIR"_s, m_product.stateDir());
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(TIDEKEEPER_BINARY_DIR "/bin/tidekeeper"), {u"status"_s});
        process.waitForFinished();
        m_statusCode = process.exitCode();
        return QString::fromUtf8(process.readAllStandardOutput());
    }
    bool schedule(const QString &verb)
    {
        return m_product.enginePost(u"/api/v1/schedules/renewal-scan/"_s + verb).good();
    }

    Product m_product;
    QString m_metrics;
    QSet<QString> m_seen;
    int m_statusCode = -1;

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_product.startGoogle());
        QVERIFY2(m_product.startEngine(), m_product.engine->log().constData());
        QVERIFY(m_product.importAccounts(3));
        QVERIFY(comesToShow(u"tidekeeper_active_subscriptions{band=\"healthy\"} 3"_s));
    }

    void allIsWell()
    {
        QVERIFY(comesToShow(u"tidekeeper_problems 0"_s));
        QCOMPARE(m_product.engineGet(u"/readyz"_s).status, 200);
        QCOMPARE(m_product.engineGet(u"/healthz"_s).body["status"_L1].toString(), u"ok"_s);
        const QString said = status();
        QCOMPARE(m_statusCode, 0);
        QVERIFY2(said.contains("Coverage"_L1) && !said.contains("ATTENTION"_L1), qPrintable(said));
        QVERIFY2(said.count(u'\n') <= 24, qPrintable(said)); // one screen
    }

    void pausedScan()
    {
        QVERIFY(schedule(u"pause"_s));
        QVERIFY(comesToShow(u"tidekeeper_scan_paused 1"_s));
        QVERIFY(sentence(u"/healthz"_s, u"scan_paused"_s).contains("tidekeeper schedules resume"_L1));
        QCOMPARE(m_product.engineGet(u"/readyz"_s).status, 200); // an operator wants it so
        const QString said = status();
        QCOMPARE(m_statusCode, 4);
        QVERIFY2(said.contains("The scan for due accounts is paused"_L1), qPrintable(said));
        QVERIFY(schedule(u"resume"_s));
        QVERIFY(comesToShow(u"tidekeeper_scan_paused 0"_s));
    }

    /// Traffic is to go elsewhere, and Google's own code is said.
    void openBreaker()
    {
        QVERIFY(m_product.googlePost(u"/sim/faults"_s, {{u"kind"_s, u"wrong_client_secret"_s}}).good());
        importLapsing();
        QVERIFY(comesToShow(u"tidekeeper_breakers_open 1"_s));
        const demo::JsonAnswer ready = m_product.engineGet(u"/readyz"_s);
        QCOMPARE(ready.status, 503);
        QString found;
        for (const QJsonValue part : ready.body["parts"_L1].toArray()) {
            if (!part["ready"_L1].toBool())
                found += part["name"_L1].toString() + u' ' + part["code"_L1].toString() + u' '
                    + part["text"_L1].toString();
        }
        QVERIFY2(found.startsWith("renewal "_L1) && found.contains("invalid_client"_L1), qPrintable(found));
        QVERIFY(status().contains("stopped by faults of configuration"_L1));
        QCOMPARE(m_statusCode, 4);
    }

    /// Those whom the breaker holds, once their watches are over.
    void lapsedAccounts()
    {
        QVERIFY(comesToShow(u"tidekeeper_active_subscriptions{band=\"expired\"} 2"_s));
        QVERIFY(sentence(u"/healthz"_s, u"accounts_lapsed"_s).contains(": 2."_L1));
        QVERIFY(m_metrics.contains("tidekeeper_problem{code=\"accounts_lapsed\",part=\"accounts\"} 1"_L1));
        const QString said = status();
        QCOMPARE(said.count("whose watch has lapsed"_L1), 1);
    }

    /// Accounts go on expiring while nothing renews them; they are counted all the same.
    void disabledPlugin()
    {
        m_product.engine.reset();
        QVERIFY(m_product.startEngine("[plugins.watch-renewal]\nenabled = false\n"));
        QVERIFY(comesToShow(u"tidekeeper_renewal_provider_running 0"_s));
        QVERIFY(shows(u"tidekeeper_accounts{state=\"active\"} 5"_s));
        QVERIFY(shows(u"tidekeeper_active_subscriptions{band=\"expired\"} 2"_s));
        QVERIFY(
            m_metrics.contains("tidekeeper_plugin_state{plugin=\"watch-renewal\",state=\"disabled\"} 1"_L1));
        QVERIFY(Product::eventually(patienceMs, [&] {
            return sentence(u"/healthz"_s, u"no_provider"_s).contains("expire meanwhile: 5"_L1);
        }));
        QVERIFY(status().contains("nothing renews watches"_L1));
        QCOMPARE(m_statusCode, 4);
    }

    void promtoolIsContent()
    {
        const QString complaint = test::promtoolComplaint({u"check"_s, u"metrics"_s}, m_metrics.toUtf8());
        QVERIFY2(complaint.isEmpty(), qPrintable(complaint));
    }

    /// No rule looks at what nobody exports.
    void rulesGoByRealNames()
    {
        for (const test::AlertRule &rule : test::alertRules()) {
            const QSet<QString> unknown = test::metricNames(rule.text) - m_seen;
            QVERIFY2(unknown.isEmpty(),
                     qPrintable(rule.name + u": "_s + QStringList(unknown.values()).join(u' ')));
        }
    }

    /// What the documentation marks with ¹ is there only once it has happened.
    void theDocumentationIsComplete()
    {
        static const QRegularExpression row(u"^\\| `(tidekeeper_\\w+)`(¹?)"_s,
                                            QRegularExpression::MultilineOption);
        QSet<QString> documented;
        QSet<QString> mayLack;
        for (auto rows = row.globalMatch(metricsDocument()); rows.hasNext();) {
            const QRegularExpressionMatch match = rows.next();
            documented.insert(match.captured(1));
            if (!match.captured(2).isEmpty())
                mayLack.insert(match.captured(1));
        }
        const QSet<QString> undocumented = m_seen - documented;
        QVERIFY2(undocumented.isEmpty(), qPrintable(QStringList(undocumented.values()).join(u' ')));
        const QSet<QString> unseen = documented - mayLack - m_seen;
        QVERIFY2(unseen.isEmpty(), qPrintable(QStringList(unseen.values()).join(u' ')));
    }

private:
    /// Two accounts whose watches lapse in two seconds.
    void importLapsing()
    {
        const QJsonObject wish{{u"count"_s, 2}, {u"prefix"_s, u"short"_s}, {u"watch_expires_in_ms"_s, 2'000}};
        QByteArray lines;
        for (const QJsonValue account :
             m_product.googlePost(u"/sim/accounts"_s, wish).body["accounts"_L1].toArray())
            lines += QJsonDocument(account.toObject()).toJson(QJsonDocument::Compact) + '\n';
        demo::JsonClient engine(m_product.engineUrl, m_product.adminToken);
        const demo::JsonAnswer imported =
            QCoro::waitFor(engine.post(u"/api/v1/accounts/import"_s, lines, "application/x-ndjson"));
        QCOMPARE(imported.body["created"_L1].toInt(), 2);
    }
};

QTEST_GUILESS_MAIN(TestNeverSilent)
#include "tst_neversilent.moc"
