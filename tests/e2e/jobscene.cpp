// SPDX-License-Identifier: Apache-2.0
#include "jobscene.h"

#include <QtCore/QFile>
#include <QtCore/QJsonDocument>
#include <QtCore/QSaveFile>

#include <csignal>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

JobScene::JobScene()
{
    product.engineArguments = {u"--plugin-path"_s,
                               QStringLiteral(TIDEKEEPER_BINARY_DIR "/tests/e2e-plugins")};
}

/// At once: no test waits for a drain that it does not look at. The private Redis outlives an engine that is killed.
JobScene::~JobScene()
{
    const qint64 redis = redisPid();
    if (product.engine)
        product.engine->kill();
    if (redis > 0)
        ::kill(pid_t(redis), SIGKILL);
}

bool JobScene::start(const QByteArray &extra)
{
    return product.startEngine("[plugins.e2e-jobs]\nfolder = \"" + product.folder.path().toUtf8() + "\"\n"
                               + extra);
}

bool JobScene::ask(const QList<QJsonObject> &jobs)
{
    QSaveFile inbox(file(u"inbox"_s));
    if (!inbox.open(QIODevice::WriteOnly))
        return false;
    for (const QJsonObject &job : jobs)
        inbox.write(QJsonDocument(job).toJson(QJsonDocument::Compact) + '\n');
    if (!inbox.commit())
        return false;
    return Product::eventually(10'000, [&] {
        const QStringList lines = journal();
        return std::all_of(jobs.begin(), jobs.end(), [&](const QJsonObject &job) {
            const QString asked = u"asked %1 "_s.arg(job["name"_L1].toString());
            return std::any_of(lines.begin(), lines.end(),
                               [&](const QString &line) { return line.startsWith(asked); });
        });
    });
}

QJsonObject JobScene::job(const QString &name, const QString &how, int ms)
{
    return {{u"name"_s, name}, {u"how"_s, how}, {u"ms"_s, ms}};
}

QStringList JobScene::journal() const
{
    QFile file(this->file(u"journal"_s));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).split(u'\n') : QStringList();
}

bool JobScene::journalSays(const QString &line, int ms) const
{
    return Product::eventually(ms, [&] { return times(line) > 0; });
}

QByteArray JobScene::jobField(const QString &name, const QString &field) const
{
    const QStringList asked = journal().filter(u"asked %1 "_s.arg(name));
    const QString id = asked.isEmpty() ? QString() : asked.first().section(u' ', 2);
    return redisCli({u"HGET"_s, u"tk:{q:plugins}:job:"_s + id, field});
}

QByteArray JobScene::redisCli(const QStringList &arguments) const
{
    QProcess cli;
    cli.start(u"redis-cli"_s, QStringList{u"-s"_s, product.stateDir() + u"/redis/redis.sock"_s} + arguments);
    cli.waitForFinished();
    return cli.readAllStandardOutput().trimmed();
}

qint64 JobScene::redisPid() const
{
    const QDir folder(product.stateDir() + u"/redis"_s);
    QFile pidFile(folder.filePath(folder.entryList({u"*.pid"_s}, QDir::Files).value(0)));
    return pidFile.open(QIODevice::ReadOnly) ? pidFile.readAll().trimmed().toLongLong() : 0;
}

} // namespace tidekeeper::test
