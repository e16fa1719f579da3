// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product.h"

namespace tidekeeper::test {

/// An engine with the plugin of jobsplugin/: jobs that do what a test says, and a journal of what they did.
class JobScene {
public:
    JobScene();
    ~JobScene();

    /// True when the engine answers. extra: more lines of TOML.
    bool start(const QByteArray &extra = {});

    /// All of them into the queue "plugins"; false when they are not there after 10 s.
    bool ask(const QList<QJsonObject> &jobs);
    static QJsonObject job(const QString &name, const QString &how, int ms = 0);

    QStringList journal() const;
    int times(const QString &line) const { return int(journal().count(line)); }
    /// Looks for the line for at most ms.
    bool journalSays(const QString &line, int ms = 10'000) const;

    /// Of the job's record in the private Redis, which outlives an engine that crashed.
    QByteArray jobField(const QString &name, const QString &field) const;
    /// Of the counters in it; what never counted is not there.
    int jobCount(const QString &name, const QString &counter) const
    {
        return jobField(name, counter).toInt();
    }
    QByteArray redisCli(const QStringList &arguments) const;
    qint64 redisPid() const;

    Product product;

private:
    QString file(const QString &name) const { return product.folder.filePath(name); }
};

} // namespace tidekeeper::test
