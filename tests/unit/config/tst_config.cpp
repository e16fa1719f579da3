// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <QtCore/QJsonArray>
#include <QtCore/QRegularExpression>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using config::Config;

class TestConfig : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    QString file(const QByteArray &text)
    {
        QFile file(m_folder.filePath(u"tidekeeper.toml"_s));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("cannot write the test's file");
        return file.fileName();
    }

private Q_SLOTS:
    void defaults()
    {
        const Result<Config> config = Config::load({}, {});
        QVERIFY(config);
        QCOMPARE(config->http.listen, u"127.0.0.1:8787"_s);
        QCOMPARE(config->google.gmailUrl, u"https://gmail.googleapis.com"_s);
        QVERIFY(!config->queue.replicated);
        QCOMPARE(config->queue.leaseMs, 10'000);
        QCOMPARE(config->queue.consumers, 2);
        QCOMPARE(config->queue.prefetch, 2);
        QVERIFY(config->push.audience.isEmpty() && config->push.serviceAccount.isEmpty());
        QCOMPARE(config->push.certsUrl, u"https://www.googleapis.com/oauth2/v3/certs"_s);
        QCOMPARE(config->google.projects.keys(), QStringList{u"default"_s});
        QCOMPARE(config->google.projects[u"default"_s].preset, u"gmail-2026"_s);
    }

    void everySection()
    {
        QFile secret(m_folder.filePath(u"secret"_s));
        QVERIFY(secret.open(QIODevice::WriteOnly) && secret.write("s") == 1 && secret.flush());
        const QByteArray text =
            "[http]\nlisten = \"[::1]:0\"\n"
            "[redis]\nurl = \"rediss://r.example:6380/2\"\nusername = \"tk\"\n"
            "[database]\nurl = \"postgres://db.example/tk\"\n"
            "[queue]\ndurability = \"replicated\"\nlease = \"3s\"\nconsumers = 8\nprefetch = 1\n"
            "[google.projects.eu]\nproject_id = \"p-1\"\ntopic = \"projects/p-1/topics/t\"\n"
            "preset = \"gmail-legacy\"\naccount_capacity = 500\n"
            "[google.projects.eu.clients.\"web.1\"]\nclient_id = \"c\"\nclient_secret_file = \""
            + secret.fileName().toUtf8()
            + "\"\n"
              "[push]\naudience = \"https://tk.example/push\"\nservice_account = \"push@p-1\"\n"
              "[log]\nlevel = \"debug\"\nformat = \"json\"\n"
              "[plugins.gmail-quota]\nfail_open = false\nsend_slack = \"2s\"\n";
        const Result<Config> config = Config::load(file(text), {});
        QVERIFY2(config, config ? "" : qPrintable(config.error().text));
        QCOMPARE(config->http.listen, u"[::1]:0"_s);
        QCOMPARE(config->redis.username, u"tk"_s);
        QVERIFY(config->queue.replicated);
        QCOMPARE(config->queue.leaseMs, 3'000);
        QCOMPARE(config->queue.consumers, 8);
        QCOMPARE(config->queue.prefetch, 1);
        const config::ProjectConfig eu = config->google.projects[u"eu"_s];
        QCOMPARE(eu.limits["account_capacity"_L1].toInteger(), 500);
        QCOMPARE(eu.clients[u"web.1"_s].clientId, u"c"_s);
        QVERIFY(config->google.projects.contains(u"default"_s));
        QCOMPARE(config->push.audience, u"https://tk.example/push"_s);
        QCOMPARE(config->push.serviceAccount, u"push@p-1"_s);
        const QJsonObject quota = config->plugins[u"gmail-quota"_s];
        QCOMPARE(quota["fail_open"_L1], QJsonValue(false));
        QCOMPARE(quota["send_slack"_L1].toInteger(), 2000);
    }

    void limitsAreThoseThatWereWritten()
    {
        const Result<Config> config = Config::load(
            file("[google.projects.a]\nday_budget = 0\nday_action = \"refuse-bulk\"\n"
                 "[google.projects.b]\npreset = \"custom\"\ncosts = \"gmail-legacy\"\n"
                 "published_account = 0\npublished_project = 600000\naccount_capacity = 1\n"
                 "account_refill_per_minute = 2\nproject_capacity = 3\nproject_refill_per_minute = 4\n"
                 "[google.projects.b.method_costs]\n\"gmail.users.labels.patch\" = 7\n"),
            {});
        QVERIFY2(config, config ? "" : qPrintable(config.error().text));
        const QJsonObject a{{u"day_budget"_s, 0}, {u"day_action"_s, u"refuse-bulk"_s}};
        QCOMPARE(config->google.projects[u"a"_s].limits, a);
        const QJsonObject b{
            {u"costs"_s, u"gmail-legacy"_s},
            {u"published_account"_s, 0},
            {u"published_project"_s, 600'000},
            {u"account_capacity"_s, 1},
            {u"account_refill_per_minute"_s, 2},
            {u"project_capacity"_s, 3},
            {u"project_refill_per_minute"_s, 4},
            {u"method_costs"_s, QJsonObject{{u"gmail.users.labels.patch"_s, 7}}},
        };
        QCOMPARE(config->google.projects[u"b"_s].limits, b);
        QCOMPARE(config->google.projects[u"default"_s].limits, QJsonObject());
    }

    void environmentWins()
    {
        const QMap<QString, QString> environment{
            {u"TIDEKEEPER_HTTP__LISTEN"_s, u"127.0.0.1:0"_s},
            {u"TIDEKEEPER_PLUGINS__GMAIL_QUOTA__ENFORCE"_s, u"false"_s},
            {u"TIDEKEEPER_GOOGLE__PROJECTS__DEFAULT__ACCOUNT_CAPACITY"_s, u"77"_s},
            {u"TIDEKEEPER_REDIS__URL"_s, u"unix:/run/redis.sock"_s},
            {u"TIDEKEEPER_QUEUE__DURABILITY"_s, u"replicated"_s},
            {u"TIDEKEEPER_STATE_DIR"_s, u"/somewhere"_s}, // not a setting of the file
            {u"HOME"_s, u"/root"_s}};
        const Result<Config> config = Config::load(file("[http]\nlisten = \"127.0.0.1:1\"\n"), environment);
        QVERIFY2(config, config ? "" : qPrintable(config.error().text));
        QCOMPARE(config->http.listen, u"127.0.0.1:0"_s);
        QVERIFY(config->queue.replicated);
        QCOMPARE(config->plugins[u"gmail-quota"_s]["enforce"_L1], QJsonValue(false));
        QCOMPARE(config->google.projects[u"default"_s].limits["account_capacity"_L1].toInteger(), 77);
    }

    void faults_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("code");
        QTest::addColumn<QString>("field");
        QTest::addColumn<QString>("says");
        const QString bad = u"invalid_value"_s;
        QTest::newRow("syntax") << QByteArray("[http\n") << u"config_syntax"_s << QString() << u"line 1"_s;
        QTest::newRow("unknown key") << QByteArray("[http]\nlissen = \"x\"\n") << bad << u"http.lissen"_s
                                     << u"Did you mean \"listen\"?"_s;
        QTest::newRow("unknown section") << QByteArray("[htpp]\n") << bad << u"htpp"_s << u"\"http\""_s;
        QTest::newRow("text as number")
            << QByteArray("[log]\nlevel = 3\n") << bad << u"log.level"_s << u"quotes"_s;
        QTest::newRow("not listed") << QByteArray("[log]\nlevel = \"loud\"\n") << bad << u"log.level"_s
                                    << u"\"warning\""_s;
        QTest::newRow("no port") << QByteArray("[http]\nlisten = \"localhost\"\n") << bad << u"http.listen"_s
                                 << u"HOST:PORT"_s;
        QTest::newRow("port too large") << QByteArray("[http]\nlisten = \"localhost:65536\"\n") << bad
                                        << u"http.listen"_s << u"HOST:PORT"_s;
        QTest::newRow("half a TLS") << QByteArray("[http]\ntls_cert = \"/etc/hostname\"\n") << bad
                                    << u"http.tls_key"_s << u"both"_s;
        QTest::newRow("scheme") << QByteArray("[redis]\nurl = \"http://x\"\n") << bad << u"redis.url"_s
                                << u"rediss:"_s;
        QTest::newRow("durability") << QByteArray("[queue]\ndurability = \"replicate\"\n") << bad
                                    << u"queue.durability"_s << u"\"replicated\""_s;
        QTest::newRow("durability as a flag")
            << QByteArray("[queue]\ndurability = true\n") << bad << u"queue.durability"_s << u"quotes"_s;
        QTest::newRow("mistyped durability") << QByteArray("[queue]\ndurabilty = \"local\"\n") << bad
                                             << u"queue.durabilty"_s << u"Did you mean \"durability\"?"_s;
        for (const QByteArray lease : {"\"999ms\"", "\"61s\"", "\"10\"", "10"})
            QTest::addRow("lease %s", lease.constData()) << "[queue]\nlease = " + lease + "\n"
                                                         << bad << u"queue.lease"_s << u""_s;
        QTest::newRow("consumers") << QByteArray("[queue]\nconsumers = 0\n") << bad << u"queue.consumers"_s
                                   << u"from 1"_s;
        QTest::newRow("prefetch") << QByteArray("[queue]\nprefetch = 65\n") << bad << u"queue.prefetch"_s
                                  << u"to 64"_s;
        QTest::newRow("half a push endpoint")
            << QByteArray("[push]\naudience = \"a\"\n") << bad << u"push.service_account"_s << u"both"_s;
        QTest::newRow("keys from nowhere")
            << QByteArray("[push]\ncerts_url = \"\"\n") << bad << u"push.certs_url"_s << u"default"_s;
        QTest::newRow("mistyped queue") << QByteArray("[queu]\n") << bad << u"queu"_s << u"\"queue\""_s;
        QTest::newRow("replicas of the private server")
            << QByteArray("[queue]\ndurability = \"replicated\"\n") << bad << u"queue.durability"_s
            << u"redis.url"_s;
        QTest::newRow("fraction") << QByteArray("[google.projects.default]\naccount_capacity = 1.5\n") << bad
                                  << u"google.projects.default.account_capacity"_s << u"whole number"_s;
        QTest::newRow("zero") << QByteArray("[google.projects.default]\nproject_capacity = 0\n") << bad
                              << u"google.projects.default.project_capacity"_s << u"from 1"_s;
        const auto project = [&](const char *name, const QByteArray &lines, const QString &key,
                                 const QString &says) {
            QTest::newRow(name) << "[google.projects.default]\n" + lines << bad
                                << u"google.projects.default."_s + key << says;
        };
        project("day budget", "day_budget = -1\n", u"day_budget"_s, u"from 0 to 1000000000000"_s);
        project("day budget as text", "day_budget = \"80M\"\n", u"day_budget"_s, u"whole number"_s);
        project("day action", "day_action = \"refuse_bulk\"\n", u"day_action"_s, u"\"refuse-bulk\""_s);
        project("empty day action", "day_action = \"\"\n", u"day_action"_s, u"\"warn\""_s);
        project("day action as a flag", "day_action = true\n", u"day_action"_s, u"quotes"_s);
        project("mistyped limit", "day_buget = 1\n", u"day_buget"_s, u"Did you mean \"day_budget\"?"_s);
        project("costs without custom", "costs = \"gmail-legacy\"\n", u"costs"_s, u"preset = \"custom\""_s);
        project("published without custom", "preset = \"gmail-legacy\"\npublished_account = 1\n",
                u"published_account"_s, u"preset = \"custom\""_s);
        const QByteArray custom = "preset = \"custom\"\naccount_capacity = 1\naccount_refill_per_minute = 1\n"
                                  "project_capacity = 1\n";
        project("custom without a refill", custom, u"project_refill_per_minute"_s, u"is missing"_s);
        project("costs of nothing", custom + "project_refill_per_minute = 1\ncosts = \"free\"\n", u"costs"_s,
                u"\"gmail-2026\""_s);
        const QByteArray costs =
            custom + "project_refill_per_minute = 1\n[google.projects.default.method_costs]\n";
        project("cost of no method", costs + "\"labels.patch\" = 5\n", u"method_costs.labels.patch"_s,
                u"gmail.users.labels.patch"_s);
        project("cost below zero", costs + "\"gmail.users.watch\" = -1\n",
                u"method_costs.gmail.users.watch"_s, u"from 0"_s);
        project("cost of a method, without custom", "method_costs = {}\n", u"method_costs"_s,
                u"preset = \"custom\""_s);
        project("mistyped costs", custom + "project_refill_per_minute = 1\nmethods_cost = {}\n",
                u"methods_cost"_s, u"not a key"_s);
        project("published", custom + "project_refill_per_minute = 1\npublished_project = -1\n",
                u"published_project"_s, u"from 0"_s);
        QTest::newRow("topic") << QByteArray("[google.projects.default]\ntopic = \"mail\"\n") << bad
                               << u"google.projects.default.topic"_s << u"projects/PROJECT/topics/TOPIC"_s;
        QTest::newRow("client without id")
            << QByteArray("[google.projects.default.clients.default]\n") << bad
            << u"google.projects.default.clients.default.client_id"_s << u"missing"_s;
        QTest::newRow("secret file missing")
            << QByteArray("[google.projects.default.clients.default]\nclient_id = \"c\"\n"
                          "client_secret_file = \"/does/not/exist\"\n")
            << bad << u"google.projects.default.clients.default.client_secret_file"_s << u"/does/not/exist"_s;
        QTest::newRow("secret file empty")
            << QByteArray("[google.projects.default.clients.default]\nclient_id = \"c\"\n"
                          "client_secret_file = \"/dev/null\"\n")
            << bad << u"google.projects.default.clients.default.client_secret_file"_s << u"is empty"_s;
        QTest::newRow("date") << QByteArray("[log]\nlevel = 2026-01-01\n") << bad << u"log.level"_s
                              << u"date"_s;
        QTest::newRow("not a table") << QByteArray("http = 1\n") << bad << u"http"_s << u"[http]"_s;
    }

    void faults()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, field);
        QFETCH(QString, says);
        const Result<Config> config = Config::load(file(text), {});
        QVERIFY(!config);
        QTEST(config.error().code, "code");
        QCOMPARE(config.error().details["field"_L1].toString(), field);
        QVERIFY2(config.error().text.contains(says), qPrintable(config.error().text));
    }

    void allFaultsAtOnce()
    {
        const Result<Config> config =
            Config::load(file("[http]\nlisten = \"x\"\n[log]\nlevel = \"loud\"\n[nothing]\n"), {});
        QVERIFY(!config);
        QCOMPARE(config.error().code, u"invalid_config"_s);
        QCOMPARE(config.error().details["fields"_L1].toArray().size(), 3);
        QVERIFY(config.error().text.contains(u"http.listen (line 2)"_s));
    }

    /// Each key that the documented file shows exists, and its value is taken.
    void documentedFile()
    {
        QFile documented(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/resources/config/tidekeeper.toml"));
        QVERIFY(documented.open(QIODevice::ReadOnly));
        QVERIFY(Config::load(documented.fileName(), {}));
        QString text = QString::fromUtf8(documented.readAll());
        QFile secret(m_folder.filePath(u"secret"_s));
        QVERIFY(secret.open(QIODevice::WriteOnly) && secret.write("s") == 1 && secret.flush());
        text.replace(QRegularExpression(u"\"/etc/tidekeeper/[^\"]*\""_s), u'"' + secret.fileName() + u'"');
        const QRegularExpression shown(u"^#(?=\\[|[a-z_]+ = )"_s, QRegularExpression::MultilineOption);
        QVERIFY(text.count(shown) > 30);
        text.remove(shown);
        const Result<Config> config = Config::load(file(text.toUtf8()), {});
        QVERIFY2(config, config ? "" : qPrintable(config.error().text));
        QCOMPARE(config->google.projects[u"default"_s].clients.keys(), QStringList{u"default"_s});
        QCOMPARE(config->plugins[u"watch-renewal"_s]["window"_L1].toInteger(), 6 * 86'400'000LL);
    }

    void missingFile()
    {
        const Result<Config> config = Config::load(u"/does/not/exist.toml"_s, {});
        QVERIFY(!config);
        QCOMPARE(config.error().code, u"config_unreadable"_s);
    }

    void durations_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<qint64>("ms");
        QTest::newRow("ms") << u"250ms"_s << qint64(250);
        QTest::newRow("s") << u"2s"_s << qint64(2'000);
        QTest::newRow("m") << u"15m"_s << qint64(900'000);
        QTest::newRow("h") << u"6h"_s << qint64(21'600'000);
        QTest::newRow("d") << u"7d"_s << qint64(604'800'000);
        QTest::newRow("zero") << u"0s"_s << qint64(0);
        for (const QString &wrong :
             {u""_s, u"5"_s, u"-1s"_s, u"1.5h"_s, u"1 h"_s, u"1w"_s, u"s"_s, u"9999999999999s"_s})
            QTest::newRow(qPrintable(u"refused: "_s + wrong)) << wrong << qint64(-1);
    }

    void durations()
    {
        QFETCH(QString, text);
        QFETCH(qint64, ms);
        const Result<qint64> parsed = config::parseDuration(text);
        QCOMPARE(parsed.value_or(-1), ms);
        if (!parsed)
            QCOMPARE(parsed.error().code, u"invalid_duration"_s);
    }
};

QTEST_GUILESS_MAIN(TestConfig)
#include "tst_config.moc"
