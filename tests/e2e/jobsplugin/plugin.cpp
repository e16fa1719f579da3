// SPDX-License-Identifier: Apache-2.0
#include <tidekeeper/callback.h>
#include <tidekeeper/services.h>

#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QThread>
#include <QtCore/QTimer>

#include <cstdlib>

using namespace Qt::StringLiterals;

namespace tidekeeper::e2e {

/// Enqueues each line of the file "inbox", {"name", "how", "ms"}, as a job and writes into the file "journal" what
/// happens to it: "asked NAME ID", "began NAME", "done NAME". how: done, wait, block (the main thread), abort.
class JobsPlugin final : public QObject, public Plugin, public JobHandler {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID TIDEKEEPER_PLUGIN_IID FILE "e2e-jobs.json")
    Q_INTERFACES(tidekeeper::Plugin tidekeeper::JobHandler)

public:
    Status initialize(Host *host) override
    {
        m_queue = service<Queue>(host);
        m_folder = host->configuration().value("folder"_L1).toString();
        connect(&m_poll, &QTimer::timeout, this, &JobsPlugin::readInbox);
        return Status::success();
    }

    void start(Reply *reply) override
    {
        m_poll.start(20);
        reply->finish(Status::success(), {});
    }

    void stop(Reply *reply) override
    {
        m_poll.stop();
        reply->finish(Status::success(), {});
    }

    QJsonObject describe() const override { return {{u"types"_s, QJsonArray{u"e2e"_s}}}; }

    void run(const QJsonObject &job, Reply *reply) override
    {
        const QJsonObject payload = job.value("payload"_L1).toObject();
        const QString name = payload.value("name"_L1).toString();
        const QString how = payload.value("how"_L1).toString();
        const int ms = payload.value("ms"_L1).toInt();
        note(u"began "_s + name);
        if (how == "block"_L1)
            QThread::msleep(static_cast<unsigned long>(ms));
        QTimer::singleShot(how == "block"_L1 ? 0 : ms, this, [=, this] {
            if (how == "abort"_L1)
                std::abort();
            if (reply->isAbandoned())
                note(u"gave up "_s + name);
            else
                note(u"done "_s + name);
            reply->finish(Status::success(), {});
        });
    }

private:
    void readInbox()
    {
        QFile inbox(m_folder + u"/inbox"_s);
        if (!inbox.open(QIODevice::ReadOnly))
            return;
        const QList<QByteArray> lines = inbox.readAll().trimmed().split('\n');
        inbox.remove();
        for (const QByteArray &line : lines) {
            const QJsonObject payload = QJsonDocument::fromJson(line).object();
            const QString name = payload.value("name"_L1).toString();
            m_queue->enqueue({{u"type"_s, u"e2e"_s}, {u"payload"_s, payload}},
                             whenDone(this, [this, name](const Status &, const QJsonObject &result) {
                                 note(u"asked %1 %2"_s.arg(name, result.value("job"_L1).toString()));
                             }));
        }
    }

    void note(const QString &line)
    {
        QFile journal(m_folder + u"/journal"_s);
        if (journal.open(QIODevice::Append))
            journal.write(line.toUtf8() + '\n');
    }

    Queue *m_queue = nullptr;
    QString m_folder;
    QTimer m_poll;
};

} // namespace tidekeeper::e2e

#include "plugin.moc"
