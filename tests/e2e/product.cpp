// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#include <QCoro/QCoroTask>
#include <QtCore/QElapsedTimer>
#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QRegularExpression>
#include <QtCore/QThread>

#include <csignal>
#include <sys/prctl.h>
#include <sys/resource.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

Program::Program(const QString &name, QStringList arguments, QString logFile) : m_logFile(std::move(logFile))
{
    // Not even a test that crashes leaves a program behind, and a program that is meant to crash leaves no core.
    m_process.setChildProcessModifier([] {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        constexpr rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
    });
    m_process.setProcessChannelMode(QProcess::MergedChannels);
    m_process.setStandardOutputFile(m_logFile);
    m_process.start(QStringLiteral(TIDEKEEPER_BINARY_DIR "/bin/") + name, arguments);
    m_process.waitForStarted();
}

Program::~Program()
{
    terminate();
    if (waitFinished(15'000) == -1)
        kill();
}

QString Program::waitListening()
{
    static const QRegularExpression line(u"^listening on (\\S+)$"_s, QRegularExpression::MultilineOption);
    QString url;
    Product::eventually(20'000, [&] {
        url = line.match(QString::fromUtf8(log())).captured(1);
        return !url.isEmpty() || m_process.waitForFinished(0);
    });
    return url;
}

int Program::waitFinished(int ms)
{
    if (m_process.state() != QProcess::NotRunning && !m_process.waitForFinished(ms))
        return -1;
    return m_process.exitStatus() == QProcess::NormalExit ? m_process.exitCode() : -1;
}

void Program::kill()
{
    m_process.kill();
    m_process.waitForFinished();
}

QByteArray Program::log() const
{
    QFile file(m_logFile);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool Product::startGoogle()
{
    google =
        std::make_unique<Program>(u"tidekeeper-google-sim"_s, QStringList{u"--listen"_s, u"127.0.0.1:0"_s},
                                  folder.filePath(u"google.log"_s));
    googleUrl = google->waitListening();
    m_toGoogle = std::make_unique<demo::JsonClient>(googleUrl);
    return !googleUrl.isEmpty();
}

bool Product::startEngine(const QByteArray &extra)
{
    QFile secret(folder.filePath(u"client-secret"_s));
    QFile config(folder.filePath(u"tidekeeper.toml"_s));
    if (!secret.open(QIODevice::WriteOnly) || !config.open(QIODevice::WriteOnly))
        return false;
    secret.write("sim-secret");
    const QByteArray url = google ? googleUrl.toUtf8() : "http://127.0.0.1:9";
    config.write("[google]\noauth_url = \"" + url + "\"\ngmail_url = \"" + url
                 + "\"\n"
                   "[google.projects.default]\nproject_id = \"sim-project\"\n"
                   "topic = \"projects/sim-project/topics/gmail\"\n"
                   "[google.projects.default.clients.default]\nclient_id = \"sim-client\"\n"
                   "client_secret_file = \""
                 + secret.fileName().toUtf8() + "\"\n" + extra);
    secret.close();
    config.close();

    engine = std::make_unique<Program>(u"tidekeeperd"_s,
                                       QStringList{u"--config"_s, config.fileName(), u"--state-dir"_s,
                                                   stateDir(), u"--listen"_s, u"127.0.0.1:0"_s}
                                           + engineArguments,
                                       folder.filePath(u"engine.log"_s));
    engineUrl = engine->waitListening();
    QFile token(stateDir() + u"/admin.token"_s);
    if (engineUrl.isEmpty() || !token.open(QIODevice::ReadOnly))
        return false;
    adminToken = token.readAll().trimmed();
    m_toEngine = std::make_unique<demo::JsonClient>(engineUrl, adminToken);
    return true;
}

bool Product::importAccounts(int count)
{
    const demo::JsonAnswer made =
        googlePost(u"/sim/accounts"_s, {{u"count"_s, count}, {u"watch_expires_in_ms"_s, 1'800'000}});
    for (const QJsonValue &account : made.body["accounts"_L1].toArray())
        importedLines += QJsonDocument(account.toObject()).toJson(QJsonDocument::Compact) + '\n';
    const demo::JsonAnswer imported =
        QCoro::waitFor(m_toEngine->post(u"/api/v1/accounts/import"_s, importedLines, "application/x-ndjson"));
    return imported.good() && imported.body["created"_L1].toInt() == count;
}

demo::JsonAnswer Product::engineGet(const QString &path)
{
    return QCoro::waitFor(m_toEngine->get(path));
}

demo::JsonAnswer Product::enginePost(const QString &path, const QJsonObject &body)
{
    return QCoro::waitFor(m_toEngine->post(path, body));
}

demo::JsonAnswer Product::googleGet(const QString &path)
{
    return QCoro::waitFor(m_toGoogle->get(path));
}

demo::JsonAnswer Product::googlePost(const QString &path, const QJsonObject &body)
{
    return QCoro::waitFor(m_toGoogle->post(path, body));
}

QJsonObject Product::googleTotals()
{
    return googleGet(u"/sim/state?accounts=0"_s).body["totals"_L1].toObject();
}

bool Product::eventually(int ms, const std::function<bool()> &condition)
{
    QElapsedTimer timer;
    timer.start();
    while (!condition()) {
        if (timer.elapsed() > ms)
            return false;
        QThread::msleep(50);
    }
    return true;
}

} // namespace tidekeeper::test
